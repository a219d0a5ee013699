/** @module Reads the auditors' index concurrently with its writer: each read uses a snapshot of the file for which its owner vouched. */
import type { ReadableIndex } from '../audit-index.ts'
import { DerivedFileRenewedError } from '../derived-file.ts'
import { StoreUnavailableError } from '../event-store.ts'
import { isDamage } from './disposable-file.ts'
import type { SnapshotFile } from './read-file.ts'
import { fileIdentity, fileState } from './rest-file.ts'
import { snapshotsOfAudit } from './sqlite-audit.ts'

/** Maximum number of attempts: a busy owner occasionally changes the file between vouching for it and the check here. */
const TRIES = 20
/** Maximum number of idle connections; more are opened while more reads run concurrently. */
const IDLE_MAX = 4
const RETRY_AFTER_MS = 1_000

/** The writer of the index, as seen by its readers. */
export interface IndexOwner {
  /**
   * Returns the file system's state of the index while all of it is known to be the ledger's; undefined otherwise. `damage`: why a read of the file
   * failed.
   */
  vouch(damage?: string): Promise<string | undefined>
  /** Called before a connection opens the file; `opened` after that. */
  opening(): Promise<void>
  opened(): Promise<void>
}

interface Connection {
  readonly file: SnapshotFile<ReadableIndex>
  /** Identity of the open file. */
  readonly identity: string
}

export class AuditSnapshots implements Disposable {
  readonly #path: string
  readonly #idle: Connection[] = []

  constructor(path: string) {
    this.#path = path
  }

  /** Throws `DerivedFileRenewedError` if the file was damaged, `StoreUnavailableError` if it cannot be trusted at present, and the errors of `work`. */
  async read<T>(owner: IndexOwner, work: (index: ReadableIndex) => Promise<T>): Promise<T> {
    for (let tries = 0; tries < TRIES; tries += 1) {
      const connection = await this.#connected(owner)
      const state = await owner.vouch()
      if (connection === undefined || state === undefined) break
      try {
        // Checked after the snapshot began: earlier writes change the state, later ones are not part of the snapshot.
        const isStill = () => fileState(this.#path) === state
        const done = await connection.file.read(isStill, work)
        if (done !== undefined) return done.value
      } catch (error) {
        if (!isDamage(error)) throw error
        const reason = String(error)
        // Damage to a file that was replaced meanwhile is not reported.
        if (connection.identity === fileIdentity(this.#path)) await owner.vouch(reason)
        throw new DerivedFileRenewedError({ file: this.#path, reason })
      } finally {
        this.#release(connection)
      }
    }
    throw new StoreUnavailableError("the auditors' index cannot be read now: ask again", RETRY_AFTER_MS)
  }

  /** Returns a connection to the file that is currently at the path. */
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
