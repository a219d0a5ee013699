/**
 * @module When the log is copied into the file: past a bound, and when the writer has nothing to do. By hand, because the checkpoint
 * that SQLite runs by itself hides a failed sync.
 */
import { type Database, isSqliteCode } from './open.ts'

/** Frames of 4 KiB in the log: larger ones cost reads, smaller ones cost syncs (measured: 1,000 is 5 % slower). */
const LOG_FRAMES = 8_000
const IDLE_MS = 500

export interface CheckpointOptions {
  /** Frames that the log may hold. */
  readonly logFrames: number | undefined
  /** Gets every error but a full disk, which costs nothing here: the log keeps what it has. */
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

  /** `wanted` asks for a checkpoint now: on a full disk it may let the log start over in the room it has. */
  afterCommit(isRequested: boolean): void {
    this.#idle.refresh()
    if (isRequested || this.#backlog() >= this.#logFrames) this.#checkpoint()
  }

  stop(): void {
    clearTimeout(this.#idle)
  }

  /** For a clean end: an empty log beside a file that holds everything. Failures leave the log, which is as good. */
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
