/**
 * @module The default store: one SQLite file, owned by one process. A dedicated thread writes appends in groups; reads run concurrently. After the first
 * failed fsync the store stops, closes the file, reopens it and settles its WAL; only then does it accept appends again.
 */
import { rmSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { MovedBodies } from '../archived-body.ts'
import { checkAppend } from '../check-append.ts'
import {
  type Append,
  type AppendResult,
  type EventStore,
  type ReadAllOptions,
  type StoreFault,
  StoreOpenError,
  type StoreStatus,
  StoreUnavailableError,
  takesReads,
} from '../event-store.ts'
import { AppendQueue, QUEUE_LIMITS, type QueueLimits } from './append-queue.ts'
import { FileStore } from './file-store.ts'
import { takeOwnership } from './owner-lock.ts'
import { fileIdentity, prepareStorePath } from './store-path.ts'
import { settleWalLoss, type WalLoss } from './wal-loss.ts'
import { startWriter, type Writer } from './writer.ts'
import type { GroupOutcome, WriterSettings } from './writer-protocol.ts'

export interface SqliteStoreOptions {
  readonly path: string
  /** Smaller bounds for tests; the defaults are `QUEUE_LIMITS`. */
  readonly limits?: Partial<QueueLimits>
  /** Number of 4 KiB frames that the WAL may hold before it is checkpointed into the file. Default 8,000. */
  readonly logFrames?: number
  /** Opens a store even if its WAL is damaged, without the unreadable frames; the damaged WAL is kept as a copy. Default: opening is refused. */
  readonly acceptWalLoss?: boolean
  /** Called if SQLite can read only part of the WAL. */
  readonly onWalLoss?: (loss: WalLoss) => void
}

const REOPEN_FIRST_MS = 25
const REOPEN_LONGEST_MS = 2_000
/** Number of consecutive openings that must find damage before the store fails: a disk that fails to read a page once looks like damage. */
const DAMAGE_BELIEVED = 3
const WHAT_TO_DO =
  ' (met at three openings in a row; no other is tried): run "countersign verify", look at the disk, and start again with a copy that verifies'

const isDamage = (error: unknown): boolean => error instanceof StoreOpenError && error.code === 'store-corrupt'
/** Suggested retry delay for callers: most reopenings take less. */
const REOPEN_RETRY_MS = 500

/**
 * Opens or creates the store and takes ownership of it. Throws `StoreOpenError`: `store-locked` if another process owns it, `store-newer`,
 * `store-unreadable`, `store-corrupt`, `store-unsupported`, `wal-damaged`.
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<EventStore> {
  const file = prepareStorePath(options.path)
  const ownership = takeOwnership(file)
  try {
    settleWalLoss(file, options)
    const store = new SqliteStore(options, file, ownership)
    await store.open()
    return store
  } catch (error) {
    ownership[Symbol.dispose]()
    throw error
  }
}

class SqliteStore extends FileStore implements EventStore {
  readonly url: string
  readonly maxAppendBytes = QUEUE_LIMITS.groupBytes
  readonly #settings: WriterSettings
  readonly #ownership: Disposable
  readonly #queue: AppendQueue
  readonly #closing = new AbortController()
  readonly #room: RoomWatch
  #writer: Writer | undefined
  #reopening: Promise<void> | undefined

  constructor({ path, limits, logFrames }: SqliteStoreOptions, file: string, ownership: Disposable) {
    super('the store is not open yet')
    this.url = `sqlite:${path}`
    this.#settings = { path: file, identity: fileIdentity(file), logFrames }
    this.#ownership = ownership
    this.#room = new RoomWatch(`${file}.room`)
    this.#queue = new AppendQueue({ ...QUEUE_LIMITS, ...limits })
  }

  /** Opens the reader only after the writer is ready: the writer settles the WAL first, which requires that no reader has the file open. */
  async open(): Promise<void> {
    const writer = await startWriter(this.#settings, {
      onOutcome: (id, outcome) => this.#settle(id, outcome),
      onStopped: (detail, fault) => this.#stop(detail, fault),
      onEnd: (detail) => this.#reopenAfter(detail),
    })
    try {
      this.reads.open(this.#settings.path)
    } catch (error) {
      // The next attempt starts another writer, and there must never be more than one.
      await writer.close()
      throw error
    }
    this.#writer = writer
    this.#queue.start(writer.post)
    this.setStatus({ state: 'ready' })
  }

  /** A file that is away is named at once, not only by the next write: a process that gets none, and signs by no interval, would go on as ready. */
  override status(): StoreStatus {
    const status = super.status()
    const detail = takesReads(status) ? this.reads.awayDetail() : undefined
    return detail === undefined ? status : { state: 'unavailable', detail }
  }

  get waitingBytes(): number {
    return this.#queue.waitingBytes
  }

  append(append: Append): Promise<AppendResult> {
    try {
      return this.#queue.add(append, checkAppend(append, this.maxAppendBytes))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  moveBodies(moved: MovedBodies): Promise<void> {
    return this.#maintained((writer) => writer.move(moved))
  }

  compact(): Promise<void> {
    return this.#maintained((writer) => writer.compact())
  }

  async #maintained(work: (writer: Writer) => Promise<void>): Promise<void> {
    const writer = this.#writer
    if (writer === undefined) throw new StoreUnavailableError('the store file is not open', REOPEN_RETRY_MS)
    await work(writer)
  }

  subscribe(options: Omit<ReadAllOptions, 'until'>, signal: AbortSignal): ReturnType<EventStore['subscribe']> {
    return this.reads.subscribe(options, signal)
  }

  /** Writes the queued appends, empties the WAL, closes the file and releases its ownership. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closing.signal.aborted) return
    this.#closing.abort()
    this.#room.stop()
    await this.#reopening
    await this.#queue.drain()
    // Readers first: the last connection to close empties the WAL and removes it.
    this.reads[Symbol.dispose]()
    await this.#writer?.close()
    this.#ownership[Symbol.dispose]()
    this.setStatus({ state: 'unavailable', detail: 'the store is closed' })
  }

  #settle(id: number, outcome: GroupOutcome): void {
    if (outcome.kind === 'failed') this.#halt(outcome.result.detail, outcome.fault)
    this.#queue.settle(id, outcome)
    if (outcome.kind === 'failed') this.#stop(outcome.result.detail, outcome.fault)
    if (outcome.kind === 'refused' && outcome.result.kind === 'full') this.#isFull(outcome.result.detail, outcome.fault)
    if (outcome.kind === 'committed') this.reads.wakeups.notify()
  }

  /**
   * Reads still work. Callers that check the status send no appends while the disk is full, so the store itself must detect free space. A small append
   * that still succeeded is no evidence of it.
   */
  #isFull(detail: string, fault: StoreFault | undefined): void {
    if (this.status().state !== 'ready') return
    this.setStatus({ state: 'full', detail, ...(fault && { fault }) })
    this.#room.watch(() => this.#hasRoom())
  }

  #hasRoom(): void {
    this.#room.stop()
    if (this.status().state === 'full') this.setStatus({ state: 'ready' })
  }

  /** The writer has closed the file. The groups in flight were not started, and reads wait until the WAL is settled. */
  #stop(detail: string, fault?: StoreFault): void {
    this.#halt(detail, fault)
    this.#queue.settleInFlight({ kind: 'unavailable', detail, retryAfterMs: REOPEN_RETRY_MS })
  }

  #reopenAfter(detail: string): void {
    this.#writer = undefined
    this.#halt(detail)
    this.#queue.settleInFlight({ kind: 'unknown', detail })
    this.#reopening = this.#reopen()
  }

  /** Must run before any caller learns of the failure: a caller that gets `unknown` reads at once, and must not read before the WAL is settled. */
  #halt(detail: string, fault?: StoreFault): void {
    this.#queue.stop(detail)
    this.reads.pause()
    this.#room.stop()
    const wasOpen = this.status().state === 'ready' || this.status().state === 'full'
    if (wasOpen) this.setStatus({ state: 'unavailable', detail, ...(fault && { fault }) })
  }

  /** Reopens the file instead of repeating COMMIT: after a failed fsync the next one succeeds without proving that the data is on the disk. */
  async #reopen(): Promise<void> {
    let timesDamaged = 0
    for (
      let waitMs = REOPEN_FIRST_MS;
      !this.#closing.signal.aborted;
      waitMs = Math.min(2 * waitMs, REOPEN_LONGEST_MS)
    ) {
      try {
        await sleep(waitMs, undefined, { signal: this.#closing.signal })
        return await this.open()
      } catch (error) {
        if (this.#closing.signal.aborted) return
        timesDamaged = isDamage(error) ? timesDamaged + 1 : 0
        const hasFailed = timesDamaged === DAMAGE_BELIEVED
        this.setStatus({
          state: hasFailed ? 'failed' : 'unavailable',
          detail: `${error}${hasFailed ? WHAT_TO_DO : ''}`,
        })
        if (hasFailed) return
      }
    }
  }
}

// Detects when a full disk has free space again by writing and removing a small file, at growing intervals while free space does not last.

/** Larger than a typical append, so that a disk that would be full again at once does not count as free. */
const ROOM_BYTES = 1024 * 1024
const FIRST_MS = 500
const LONGEST_MS = 15_000
/** If free space lasted this long, the intervals start over. */
const LASTING_MS = 60_000

class RoomWatch {
  readonly #path: string
  #timer: NodeJS.Timeout | undefined
  #waitMs = FIRST_MS
  #stoppedAtMs = Number.NEGATIVE_INFINITY

  /** `path` must be a name that nothing else uses, on the disk that is full. */
  constructor(path: string) {
    this.#path = path
    // A process that was killed during a probe may have left the file.
    rmSync(path, { force: true })
  }

  /** Calls `onRoom` once, unless it is stopped before. */
  watch(onRoom: () => void): void {
    this.stop()
    if (performance.now() - this.#stoppedAtMs > LASTING_MS) this.#waitMs = FIRST_MS
    this.#timer = setTimeout(() => {
      this.#look(onRoom).catch(() => undefined)
    }, this.#waitMs).unref()
    this.#waitMs = Math.min(2 * this.#waitMs, LONGEST_MS)
  }

  stop(): void {
    if (this.#timer === undefined) return
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#stoppedAtMs = performance.now()
  }

  async #look(onRoom: () => void): Promise<void> {
    const timer = this.#timer
    const hasRoom = await writeFile(this.#path, Buffer.alloc(ROOM_BYTES), { mode: 0o600 }).then(
      () => true,
      () => false,
    )
    await rm(this.#path, { force: true })
    if (this.#timer !== timer) return
    if (hasRoom) onRoom()
    else this.watch(onRoom)
  }
}
