/**
 * @module The store in memory: the reference for every other backend, and the store used in tests. It keeps all promises of the port except durability:
 * nothing survives the process.
 */
import { checkAppend } from '../check-append.ts'
import { compareDecimalPositions, parsePosition } from '../decimal-position.ts'
import {
  type Append,
  type AppendResult,
  type EventStore,
  NO_STREAM,
  type Position,
  type ReadAllOptions,
  type ReadRecord,
  type ReadStreamOptions,
  type RecordPages,
  type StoreStatus,
} from '../event-store.ts'
import { follow, type ScanPage } from '../follow.ts'
import { isOfTenant, tenantStreams } from '../tenant-streams.ts'
import { Wakeups } from '../wakeups.ts'

export interface MemoryStoreOptions {
  /** Default 4 MiB, as in the SQLite store. */
  readonly maxAppendBytes?: number
  /** Records in a page of a read. Default 256. */
  readonly pageRecords?: number
}

interface Stream {
  readonly records: ReadRecord[]
  readonly requests: Map<string, number>
}

export function openMemoryStore(options: MemoryStoreOptions = {}): EventStore {
  return new MemoryStore(options)
}

class MemoryStore implements EventStore {
  readonly url = 'memory:'
  readonly maxAppendBytes: number
  readonly comparePositions = compareDecimalPositions
  readonly #pageRecords: number
  readonly #all: ReadRecord[] = []
  readonly #streams = new Map<string, Stream>()
  readonly #wakeups = new Wakeups()

  constructor({ maxAppendBytes = 4 * 1024 * 1024, pageRecords = 256 }: MemoryStoreOptions) {
    this.maxAppendBytes = maxAppendBytes
    this.#pageRecords = pageRecords
  }

  async append(append: Append): Promise<AppendResult> {
    checkAppend(append, this.maxAppendBytes)
    if (this.#wakeups.closed) return { kind: 'unavailable', detail: 'the store is closed', retryAfterMs: 1_000 }

    const { stream: name, expectedRevision, records } = append
    const stream = this.#streams.get(name) ?? { records: [], requests: new Map<string, number>() }
    const actual = stream.records.length - 1
    if (expectedRevision !== actual) return { kind: 'conflict', actual }
    for (const { requestId } of records) {
      const revision = requestId === undefined ? undefined : stream.requests.get(requestId)
      if (requestId !== undefined && revision !== undefined) return { kind: 'duplicate-request', requestId, revision }
    }

    this.#streams.set(name, stream)
    for (const record of records) this.#add(name, stream, record)
    this.#wakeups.notify()
    return { kind: 'appended', revision: stream.records.length - 1, position: String(this.#all.length) }
  }

  #add(name: string, stream: Stream, record: Append['records'][number]): void {
    const { header, salt, data, requestId } = record
    const revision = stream.records.length
    const position = String(this.#all.length + 1)
    const request = requestId === undefined ? {} : { requestId }
    const found = { position, stream: name, revision, header, salt: Uint8Array.from(salt), data, ...request }
    stream.records.push(found)
    this.#all.push(found)
    if (requestId !== undefined) stream.requests.set(requestId, revision)
  }

  async head(stream: string): Promise<number> {
    return (this.#streams.get(stream)?.records.length ?? 0) + NO_STREAM
  }

  async recordAt(position: Position): Promise<ReadRecord | undefined> {
    return this.#all[parsePosition(position) - 1]
  }

  async end(): Promise<Position | undefined> {
    return this.#all.at(-1)?.position
  }

  async findRequest(stream: string, requestId: string): Promise<number | undefined> {
    return this.#streams.get(stream)?.requests.get(requestId)
  }

  async *readStream(name: string, options: ReadStreamOptions = {}): RecordPages {
    const { from = 0, to = Number.POSITIVE_INFINITY, direction = 'forwards' } = options
    const found = (this.#streams.get(name)?.records ?? []).filter(({ revision }) => revision >= from && revision <= to)
    if (direction === 'backwards') found.reverse()
    for (let start = 0; start < found.length; start += this.#pageRecords) {
      yield found.slice(start, start + this.#pageRecords)
    }
  }

  async *readAll(options: ReadAllOptions = {}): RecordPages {
    for await (const { records } of this.#scan(options)) if (records.length > 0) yield records
  }

  async *#scan({ after, until, tenant }: ReadAllOptions): AsyncGenerator<ScanPage> {
    const last = until === undefined ? Number.POSITIVE_INFINITY : parsePosition(until)
    const streams = tenant === undefined ? undefined : tenantStreams(tenant)
    let start = after === undefined ? 0 : parsePosition(after)
    while (start < Math.min(last, this.#all.length)) {
      const page = this.#all.slice(start, Math.min(start + this.#pageRecords, last))
      start += page.length
      const records = streams === undefined ? page : page.filter(({ stream }) => isOfTenant(stream, streams))
      yield { records, upTo: String(start) }
    }
  }

  subscribe(options: Omit<ReadAllOptions, 'until'>, signal: AbortSignal): ReturnType<EventStore['subscribe']> {
    const scan = (after: Position | undefined): AsyncIterable<ScanPage> => this.#scan({ ...options, after })
    return follow({ scan, wakeups: this.#wakeups, after: options.after, signal })
  }

  status(): StoreStatus {
    return { state: 'ready' }
  }

  /** This store never changes its status, so the listener is never called. */
  onStatus(_listener: (status: StoreStatus) => void): () => void {
    return () => undefined
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#wakeups.close()
  }
}
