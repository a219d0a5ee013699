/** @module The last revision of each stream as the writer sees it inside its transaction: a bounded cache over the file. */
import { LRUCache } from 'lru-cache'
import { NO_STREAM } from '../event-store.ts'
import type { Database } from './open.ts'

/** Streams kept; about 200 bytes each. */
const KEPT_STREAMS = 50_000

export interface StreamHead {
  /** Undefined where the stream is not in the file yet. */
  id: number | undefined
  revision: number
}

export class StreamHeads {
  readonly #kept = new LRUCache<string, StreamHead>({ max: KEPT_STREAMS })
  readonly #find
  #dataVersion: unknown
  readonly #readDataVersion

  constructor(db: Database) {
    this.#find = db.prepare<[string], StreamHead>(
      `SELECT id, ifnull((SELECT max(revision) FROM events WHERE stream_id = streams.id), ${NO_STREAM}) AS revision
       FROM streams WHERE name = ?`,
    )
    this.#readDataVersion = db.prepare('PRAGMA data_version').pluck()
  }

  /** Call inside the transaction, before the first `of`: drops everything if another connection has written. */
  refresh(): void {
    const dataVersion = this.#readDataVersion.get()
    if (dataVersion !== this.#dataVersion) this.clear()
    this.#dataVersion = dataVersion
  }

  of(stream: string): StreamHead {
    const current = this.#kept.get(stream)
    if (current !== undefined) return current

    const found = this.#find.get(stream) ?? { id: undefined, revision: NO_STREAM }
    this.#kept.set(stream, found)
    return found
  }

  forget(stream: string): void {
    this.#kept.delete(stream)
  }

  clear(): void {
    this.#kept.clear()
  }
}
