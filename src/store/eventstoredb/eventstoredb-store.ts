/**
 * @module The store on EventStoreDB or KurrentDB: any number of processes share one node or cluster, and only expected revisions order their appends. An
 * append is retried only within its own call, while resending the same batch at the same revision is safe.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { ErrorType, type EventStoreDBClient } from '@eventstore/db-client'
import { onAbort } from '../../resources/linked-signal.ts'
import { checkAppend } from '../check-append.ts'
import {
  type Append,
  type AppendResult,
  type EventStore,
  type HeldTo,
  type Position,
  type ReadAllOptions,
  type ReadRecord,
  type ReadStreamOptions,
  type RecordPages,
  StoreOpenError,
  type StoreStatus,
  StoreUnavailableError,
  StreamDeletedError,
} from '../event-store.ts'
import { followThroughOutages } from '../follow.ts'
import { Wakeups } from '../wakeups.ts'
import { parseAllPosition, positionText } from './all-positions.ts'
import { comparePositionTexts, recordAt, type ScanDeps, scanAll } from './all-reads.ts'
import { AppendLanes, type LaneLimits } from './append-lanes.ts'
import { deletedStream, sendAppend } from './append-sender.ts'
import { reasonOf, typeOf } from './client-errors.ts'
import { Connection, within } from './connection.ts'
import { readConnectionUrl } from './connection-url.ts'
import { type Canonical, SERVER_APPEND_BYTES } from './event-form.ts'
import { LastPosition } from './last-position.ts'
import { WakeWatch, watchRetention } from './live-watch.ts'
import { RecentPages } from './recent-pages.ts'
import { RetentionCheck, refuseForgetting } from './retention-check.ts'
import { acquireClient } from './shared-client.ts'
import { findLostBeginnings, readHead, readStreamPages } from './stream-reads.ts'
import { DEFAULT_TIMINGS, type Timings } from './timings.ts'

/** The server's limit, less room for the metadata around header and salt. */
const MAX_APPEND_BYTES = SERVER_APPEND_BYTES - 65_536
const LIMITS: LaneLimits = { waitingAppends: 10_000, waitingBytes: 64 * 1024 * 1024 }
const OPEN_AGAIN_MS = 100
const OPEN_AGAIN_MAX_MS = 1_000
const HOUR_MS = 3_600_000
/** An operator has to revert the deletion, so retries are slow. */
const DELETED_RETRY_MS = 60_000

export interface EventStoreDbOptions {
  /** `esdb://host:2113?tls=false`, `esdb+discover://...`, `kurrentdb://...`. */
  readonly url: string
  /** Prints a JSON value in canonical form (RFC 8785): values read from the server were signed in this form. */
  readonly canonical: Canonical
  readonly timings?: Partial<Timings>
  /** Limits of the appends that wait for the node. */
  readonly limits?: Partial<LaneLimits>
  /** Absent: opening fails if no node answers within `openMs`. */
  readonly patience?: Patience
}

/** For a process that may start before its store: opening waits until the signal aborts. */
export interface Patience {
  readonly signal: AbortSignal
  /** Called each time no node answered. */
  readonly onAway: (reason: string) => void
}

/**
 * Waits for the node, and checks that it keeps what it receives. Throws `StoreOpenError`: `store-unsupported` for a URL that cannot be used, a server that
 * is too old, and streams whose events it may drop; `store-unreadable` for credentials that it refuses; `store-away` if no node answers in time, or before
 * the signal aborts.
 */
export async function openEventStoreDbStore(options: EventStoreDbOptions): Promise<EventStore> {
  const { url, canonical, timings, limits, patience } = options
  const { connection: target, shown } = readConnectionUrl(url)
  const shared = acquireClient(target)
  const connection = new Connection(shared, { ...DEFAULT_TIMINGS, ...timings })
  const retention = new RetentionCheck(connection)
  try {
    await waitForNode(connection, shown, patience)
    await refuseOldServer(connection)
    await retention.look()
    refuseForgetting(retention)
  } catch (error) {
    connection.close()
    await shared.release()
    throw asOpenError(error, shown)
  }
  return new EventStoreDbStore(connection, { url: shown, canonical, retention, limits: { ...LIMITS, ...limits } })
}

function asOpenError(error: unknown, shown: string): unknown {
  if (typeOf(error) === ErrorType.ACCESS_DENIED) {
    const message = `${shown} refuses these credentials: the ledger needs a user that may write its streams and read $all`
    return new StoreOpenError('store-unreadable', message, { cause: error })
  }
  if (!(error instanceof StoreUnavailableError)) return error
  return new StoreOpenError('store-away', `${shown}: ${error.message}`, { cause: error })
}

async function waitForNode(connection: Connection, shown: string, patience: Patience | undefined): Promise<void> {
  const deadlineMs = performance.now() + (patience === undefined ? connection.timings.openMs : Number.POSITIVE_INFINITY)
  for (let tries = 0; ; tries += 1) {
    try {
      return await connection.probe()
    } catch (error) {
      if (typeOf(error) === ErrorType.ACCESS_DENIED) throw error
      const reason = reasonOf(error)
      if (performance.now() > deadlineMs || patience?.signal.aborted === true) {
        throw new StoreOpenError('store-away', `no node answers at ${shown}: ${reason}`, { cause: error })
      }
      patience?.onAway(reason)
    }
    const waitMs = Math.min(OPEN_AGAIN_MS * 2 ** tries, OPEN_AGAIN_MAX_MS) * (0.5 + Math.random() / 2)
    await sleep(waitMs, undefined, { ...(patience !== undefined && { signal: patience.signal }) }).catch(
      () => undefined,
    )
  }
}

interface StoreParts {
  readonly url: string
  readonly canonical: Canonical
  readonly limits?: LaneLimits
  /** Absent for a reader. A store that appends is notified while it is open of events that the server may drop. */
  readonly retention?: RetentionCheck
}

export class EventStoreDbStore implements EventStore {
  readonly url: string
  readonly maxAppendBytes = MAX_APPEND_BYTES
  readonly comparePositions = comparePositionTexts
  readonly #connection: Connection
  readonly #canonical: Canonical
  readonly #lanes: AppendLanes
  readonly #last: LastPosition
  readonly #recent = new RecentPages()
  readonly #wakeups = new Wakeups()
  readonly #retention: RetentionCheck | undefined
  readonly #wakeWatch: WakeWatch
  #held: HeldTo | undefined
  #watching: Promise<void> | undefined

  constructor(connection: Connection, { url, canonical, limits = LIMITS, retention }: StoreParts) {
    this.url = url
    this.#connection = connection
    this.#canonical = canonical
    this.#retention = retention
    this.#last = new LastPosition(connection)
    // After a change of leaders the server's log may continue differently.
    connection.onStatus(() => this.#recent.forget())
    const onDeleted = (stream: string, loss: 'deleted' | 'gone'): void => retention?.met(stream, loss)
    this.#lanes = new AppendLanes(
      (append) => sendAppend({ connection, canonical, onDeleted, isHeld: () => this.#isHeld() }, append),
      limits,
    )
    retention?.tell()
    this.#wakeWatch = new WakeWatch(connection, this.#wakeups)
    if (retention !== undefined) this.#watching = watchRetention(connection, retention, () => void this.#isHeld())
  }

  get waitingBytes(): number {
    return this.#lanes.waitingBytes
  }

  async append(append: Append): Promise<AppendResult> {
    const bytes = checkAppend(append, this.maxAppendBytes)
    if (this.#retention?.isDeleted(append.stream) === true) {
      return { kind: 'unavailable', detail: deletedStream(append.stream), retryAfterMs: DELETED_RETRY_MS }
    }
    const result = await this.#lanes.append(append, bytes)
    if (result.kind === 'appended') this.#wakeups.notify()
    return result
  }

  async head(stream: string): Promise<number> {
    this.#refuseDeleted(stream)
    return await readHead(this.#connection, stream)
  }

  async *readStream(stream: string, options?: ReadStreamOptions): RecordPages {
    this.#refuseDeleted(stream)
    yield* readStreamPages(this.#deps, stream, options)
  }

  /** To the server a deleted stream looks like one that never existed, so its name would be given to another run. */
  #refuseDeleted(stream: string): void {
    if (this.#retention?.isDeleted(stream) === true) throw new StreamDeletedError(stream)
  }

  async *readAll(options: ReadAllOptions = {}): RecordPages {
    for await (const { records } of scanAll(this.#deps, options)) if (records.length > 0) yield records
  }

  async recordAt(position: Position): Promise<ReadRecord | undefined> {
    return await recordAt(this.#deps, parseAllPosition(position))
  }

  async end(): Promise<Position | undefined> {
    const last = await this.#last.find()
    return last === undefined ? undefined : positionText(last)
  }

  /** The server has no index of request ids: the stream is scanned. */
  async findRequest(stream: string, requestId: string): Promise<number | undefined> {
    for await (const page of this.readStream(stream)) {
      const found = page.find((record) => record.requestId === requestId)
      if (found !== undefined) return found.revision
    }
    return undefined
  }

  /** The server supports no condition on another stream's event: the known event is checked when the connection was lost, before anything else is written. */
  holdTo(known: HeldTo): void {
    this.#held = known
  }

  async #isHeld(): Promise<boolean> {
    return (await this.#held?.check()) ?? true
  }

  /** Streams that are known to be deleted are not queried: to the server their names are free. */
  async lostBeginnings(streams: readonly string[]): Promise<readonly string[]> {
    const there = streams.filter((stream) => this.#retention?.isDeleted(stream) !== true)
    return await findLostBeginnings(this.#deps, there)
  }

  async *subscribe(
    options: Omit<ReadAllOptions, 'until'>,
    signal: AbortSignal,
  ): AsyncGenerator<readonly ReadRecord[] | 'caught-up', void> {
    const parts = {
      scan: (from: ReadAllOptions) => scanAll(this.#deps, { ...from, isWoken: true, isShared: true }),
      wakeups: this.#wakeups,
      whenBack: (ended: AbortSignal) => this.#connection.whenReady(HOUR_MS, ended),
    }
    const over = this.#wakeWatch.begin()
    const stopListening = signal.aborted ? undefined : onAbort(signal, over)
    try {
      yield* followThroughOutages(parts, options, signal)
    } finally {
      stopListening?.()
      over()
    }
  }

  status(): StoreStatus {
    return this.#connection.status
  }

  onStatus(listener: (status: StoreStatus) => void): () => void {
    return this.#connection.onStatus(listener)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#wakeups.closed) return
    this.#wakeups.close()
    await this.#lanes.idle()
    this.#connection.close()
    await this.#watching
    await this.#wakeWatch.over()
    await this.#connection.shared.release()
  }

  get #deps(): ScanDeps {
    return { connection: this.#connection, canonical: this.#canonical, last: this.#last, recent: this.#recent }
  }
}

// Checks the server's version: the behaviour that the store relies on was measured on 23.10, and the client requires at least 22.6.

const OLDEST: readonly [major: number, minor: number] = [22, 6]
const VERSION = /^(\d+)\.(\d+)/

/** The client has this property, but declares it for subclasses only. */
interface VersionedClient {
  readonly capabilities: Promise<{ readonly serverVersion: string }>
}

/** Throws `StoreOpenError` (`store-unsupported`) that names both versions, and `StoreUnavailableError`. */
async function refuseOldServer(connection: Connection): Promise<void> {
  const version = await connection.read((client) => within(connection.timings.callMs, versionOf(client)))
  const [, major, minor] = VERSION.exec(version) ?? []
  const [oldestMajor, oldestMinor] = OLDEST
  const isOld = Number(major) < oldestMajor || (Number(major) === oldestMajor && Number(minor) < oldestMinor)
  if (major !== undefined && minor !== undefined && !isOld) return
  const versionText =
    major === undefined ? 'does not say its version, as servers before 21.10' : `is of version ${version}`
  throw new StoreOpenError(
    'store-unsupported',
    `the server ${versionText}: EventStoreDB ${OLDEST.join('.')} or later is needed (23.10 is what this was made for)`,
  )
}

async function versionOf(client: EventStoreDBClient): Promise<string> {
  const { serverVersion } = await (client as unknown as VersionedClient).capabilities
  return serverVersion
}
