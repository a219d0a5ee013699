/** @module The reading half of the port over a store file: pages, subscriptions, and a connection that can be closed and reopened. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { parsePosition } from '../decimal-position.ts'
import {
  type Position,
  type PositionRange,
  type ReadAllOptions,
  type ReadRecord,
  type ReadStreamOptions,
  type RecordPages,
  StoreUnavailableError,
} from '../event-store.ts'
import { follow, type ScanPage } from '../follow.ts'
import { tenantStreams } from '../tenant-streams.ts'
import { Wakeups } from '../wakeups.ts'
import { diskFault, isSqliteCode, sqliteCode } from './open.ts'
import { RowReader } from './row-reader.ts'
import { fileIdentity, removedOrReplaced } from './store-path.ts'

/** How long a read waits for a store that is reopening its file, in milliseconds. */
const PATIENCE_MS = 3_000

export class StoreReads implements Disposable {
  /** Notified on commits: subscribers wait on it. */
  readonly wakeups = new Wakeups()
  readonly #openings = new Wakeups()
  #reader: RowReader | undefined
  #identity: string | undefined

  /** Throws the driver's error if the file is missing or unreadable. */
  open(path: string): void {
    this.#identity = fileIdentity(path)
    this.#reader = new RowReader(path)
    this.#openings.notify()
  }

  /** Makes reads wait until the next `open`. */
  pause(): void {
    this.#reader?.[Symbol.dispose]()
    this.#reader = undefined
  }

  /** Set while the file at the path is not the open one: what is read then is not what a process finds after a restart. */
  awayDetail(): string | undefined {
    const path = this.#reader?.db.name
    if (path === undefined || fileIdentity(path) === this.#identity) return undefined
    return removedOrReplaced(path)
  }

  /** Changes when another connection has committed; undefined while paused. */
  dataVersion(): number | undefined {
    return this.#reader?.dataVersion()
  }

  async head(stream: string): Promise<number> {
    return this.#read(await this.#connected(), (reader) => reader.head(stream))
  }

  async recordAt(position: Position): Promise<ReadRecord | undefined> {
    const until = parsePosition(position)
    const range = { after: until - 1, until, tenant: undefined }
    return this.#read(await this.#connected(), (reader) => reader.allPage(range)).records[0]
  }

  async end(): Promise<Position | undefined> {
    const end = this.#read(await this.#connected(), (reader) => reader.end())
    return end === 0 ? undefined : String(end)
  }

  async missingPositions(limit: number, among?: number): Promise<readonly Position[]> {
    return this.#read(await this.#connected(), (reader) => reader.missingPositions(limit, among)).map(String)
  }

  async missingEnd(): Promise<PositionRange | undefined> {
    return this.#read(await this.#connected(), (reader) => reader.missingEnd())
  }

  async findRequest(stream: string, requestId: string): Promise<number | undefined> {
    return this.#read(await this.#connected(), (reader) => reader.findRequest(stream, requestId))
  }

  async *readStream(stream: string, options: ReadStreamOptions = {}): RecordPages {
    const { direction = 'forwards' } = options
    let { from = 0, to = Number.MAX_SAFE_INTEGER } = options
    while (from <= to) {
      const range = { from, to, direction }
      const page = this.#read(await this.#connected(), (reader) => reader.streamPage(stream, range))
      const last = page.at(-1)
      if (last === undefined) return
      yield page
      if (direction === 'forwards') from = last.revision + 1
      else to = last.revision - 1
      await nextTurn()
    }
  }

  async *readAll(options: ReadAllOptions = {}): RecordPages {
    for await (const { records } of this.#scan(options)) if (records.length > 0) yield records
  }

  subscribe(options: Omit<ReadAllOptions, 'until'>, signal: AbortSignal): ReturnType<typeof follow> {
    const scan = (after: Position | undefined): AsyncIterable<ScanPage> => this.#scan({ ...options, after }, signal)
    return follow({ scan, wakeups: this.wakeups, after: options.after, signal })
  }

  [Symbol.dispose](): void {
    this.pause()
    this.wakeups.close()
    this.#openings.close()
  }

  /** With a signal, waits for a paused store without limit and ends without an error; without one, throws after `PATIENCE_MS`. */
  async *#scan({ after, until, tenant }: ReadAllOptions, signal?: AbortSignal): AsyncGenerator<ScanPage> {
    const streams = tenant === undefined ? undefined : tenantStreams(tenant)
    const last = until === undefined ? Number.MAX_SAFE_INTEGER : parsePosition(until)
    let position = after === undefined ? 0 : parsePosition(after)
    for (;;) {
      const reader = signal === undefined ? await this.#connected() : await this.#waitFor(signal)
      if (reader === undefined) return
      const range = { after: position, until: last, tenant: streams }
      const { records, upTo } = this.#read(reader, () => reader.allPage(range))
      if (upTo === undefined) return
      position = upTo
      yield { records, upTo: String(upTo) }
      await nextTurn()
    }
  }

  /** Converts errors of the disk to ones with the name of the file: an error of SQLite alone tells neither which file failed nor what to do. */
  #read<T>(reader: RowReader, work: (reader: RowReader) => T): T {
    try {
      return work(reader)
    } catch (error) {
      const file = reader.db.name
      const fault = diskFault(error, file)
      const isDamaged = isSqliteCode(error, 'SQLITE_CORRUPT', 'SQLITE_NOTADB')
      if (fault === undefined && !isDamaged) throw error
      const advice = isDamaged ? 'run "countersign verify", and restore a copy' : 'look at the disk'
      throw new StoreUnavailableError(`${file} cannot be read (${sqliteCode(error)}): ${advice}`, PATIENCE_MS)
    }
  }

  async #connected(): Promise<RowReader> {
    const reader = this.#reader ?? (await this.#waitFor(AbortSignal.timeout(PATIENCE_MS)))
    const detail = reader === undefined ? 'the store file is not open' : this.awayDetail()
    if (reader !== undefined && detail === undefined) return reader
    throw new StoreUnavailableError(detail ?? 'the store file is not open', PATIENCE_MS)
  }

  async #waitFor(signal: AbortSignal): Promise<RowReader | undefined> {
    while (this.#reader === undefined && !signal.aborted && !this.#openings.closed) {
      await this.#openings.next(this.#openings.count, signal)
    }
    return this.#reader
  }
}
