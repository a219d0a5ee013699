/** @module The auditors' index read beside the one who writes it: each reading sees the file as it was when its owner vouched for it. */
import type { ReadableIndex } from '../audit-index.ts'
import { DerivedFileRenewedError } from '../derived-file.ts'
import { StoreUnavailableError } from '../event-store.ts'
import { isDamage } from './disposable-file.ts'
import type { SnapshotFile } from './read-file.ts'
import { fileIdentity, fileState } from './rest-file.ts'
import { snapshotsOfAudit } from './sqlite-audit.ts'

/** An owner who writes without a pause changes the file between its word and the look at it, once in a while. */
const TRIES = 20
/** Connections that wait for the next reading; more are opened while more read at once. */
const IDLE_MAX = 4
const RETRY_AFTER_MS = 1_000

/** Whoever writes the index, as one of its readers sees him. */
export interface IndexOwner {
  /**
   * What the file system says of the index while all of it is known to be the ledger's; undefined where it is not. `damage`: why a reading of
   * the file failed.
   */
  vouch(damage?: string): Promise<string | undefined>
  /** Before a connection opens the file, and after it. */
  opening(): Promise<void>
  opened(): Promise<void>
}

interface Connection {
  readonly file: SnapshotFile<ReadableIndex>
  /** Of the file that it has open. */
  readonly identity: string
}

export class AuditSnapshots implements Disposable {
  readonly #path: string
  readonly #idle: Connection[] = []

  constructor(path: string) {
    this.#path = path
  }

  /** Throws `DerivedFileRenewedError` where the file was damaged, `StoreUnavailableError` where it cannot be believed now, and what `work` throws. */
  async read<T>(owner: IndexOwner, work: (index: ReadableIndex) => Promise<T>): Promise<T> {
    for (let tries = 0; tries < TRIES; tries += 1) {
      const connection = await this.#connected(owner)
      const state = await owner.vouch()
      if (connection === undefined || state === undefined) break
      try {
        // Looked at behind the snapshot: what was written before it shows, what is written after it is not in it.
        const isStill = () => fileState(this.#path) === state
        const done = await connection.file.read(isStill, work)
        if (done !== undefined) return done.value
      } catch (error) {
        if (!isDamage(error)) throw error
        const reason = String(error)
        // Not of a file that was rebuilt meanwhile.
        if (connection.identity === fileIdentity(this.#path)) await owner.vouch(reason)
        throw new DerivedFileRenewedError({ file: this.#path, reason })
      } finally {
        this.#release(connection)
      }
    }
    throw new StoreUnavailableError("the auditors' index cannot be read now: ask again", RETRY_AFTER_MS)
  }

  /** To the file that bears the name now. */
  async #connected(owner: IndexOwner): Promise<Connection | undefined> {
    const identity = fileIdentity(this.#path)
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      if (idle.identity === identity) return idle
      idle.file[Symbol.dispose]()
    }
    await owner.opening()
    try {
      const file = snapshotsOfAudit(this.#path)
      return file && { file, identity }
    } finally {
      await owner.opened()
    }
  }

  #release(connection: Connection): void {
    if (this.#idle.length < IDLE_MAX) this.#idle.push(connection)
    else connection.file[Symbol.dispose]()
  }

  [Symbol.dispose](): void {
    for (const { file } of this.#idle.splice(0)) file[Symbol.dispose]()
  }
}
