/**
 * @module Decides when the WAL is checkpointed into the file: when it exceeds a limit, and when the writer is idle. Checkpoints are run explicitly,
 * because SQLite's automatic checkpoint hides a failed fsync.
 */
import { type Database, isSqliteCode } from './open.ts'

/** Limit of the WAL in frames of 4 KiB: a higher one slows down reads, a lower one costs more fsyncs (measured: 1,000 is 5 % slower). */
const LOG_FRAMES = 8_000
const IDLE_MS = 500

export interface CheckpointOptions {
  /** Number of frames that the WAL may hold. */
  readonly logFrames: number | undefined
  /** Called for every error except a full disk, which does no harm here: the WAL keeps its content. */
  readonly onFailure: (error: unknown) => void
}

interface LogState {
  readonly busy: number
  readonly log: number
  readonly checkpointed: number
}

export class Checkpoints {
  readonly #db: Database
  readonly #logFrames: number
  readonly #onFailure: (error: unknown) => void
  readonly #idle: NodeJS.Timeout
  readonly #measure
  readonly #run

  constructor(db: Database, { logFrames = LOG_FRAMES, onFailure }: CheckpointOptions) {
    this.#db = db
    this.#logFrames = logFrames
    this.#onFailure = onFailure
    this.#measure = db.prepare<[], LogState>('PRAGMA wal_checkpoint(NOOP)')
    this.#run = db.prepare<[], LogState>('PRAGMA wal_checkpoint(PASSIVE)')
    this.#idle = setTimeout(() => this.#checkpoint(), IDLE_MS)
  }

  /** `isRequested` forces a checkpoint now: on a full disk it may let the WAL start over within the space it already has. */
  afterCommit(isRequested: boolean): void {
    this.#idle.refresh()
    if (isRequested || this.#backlog() >= this.#logFrames) this.#checkpoint()
  }

  stop(): void {
    clearTimeout(this.#idle)
  }

  /** For a clean shutdown: leaves an empty WAL next to a file that holds everything. On failure the WAL stays, which is equally safe. */
  truncate(): void {
    if (!this.#db.open) return
    this.#guarded(() => this.#db.pragma('wal_checkpoint(TRUNCATE)'))
  }

  #backlog(): number {
    const state = this.#measure.get()
    return state === undefined ? 0 : state.log - state.checkpointed
  }

  #checkpoint(): void {
    if (this.#db.open && this.#backlog() > 0) this.#guarded(() => this.#run.get())
  }

  #guarded(work: () => unknown): void {
    try {
      work()
    } catch (error) {
      if (isSqliteCode(error, 'SQLITE_FULL', 'SQLITE_BUSY', 'SQLITE_LOCKED')) return
      this.stop()
      this.#onFailure(error)
    }
  }
}
