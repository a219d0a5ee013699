/** @module The last revision of each stream as seen by the writer inside its transaction: a bounded cache over the file. */
import { LRUCache } from 'lru-cache'
import { NO_STREAM } from '../event-store.ts'
import type { Database } from './open.ts'

/** Default size of the cache. */
const HEADS_MAX_BYTES = 8 * 1024 * 1024
/** Estimated size of a cache entry, in addition to the name of its stream. */
const HEAD_BYTES = 160

export interface StreamHead {
  /** Undefined if the stream is not in the file yet. */
  id: number | undefined
  revision: number
}

export class StreamHeads {
  readonly #heads: LRUCache<string, StreamHead>
  readonly #find
  #dataVersion: unknown
  readonly #readDataVersion

  constructor(db: Database, maxBytes = HEADS_MAX_BYTES) {
    this.#heads = new LRUCache({ maxSize: maxBytes, sizeCalculation: (_, stream) => HEAD_BYTES + 2 * stream.length })
    this.#find = db.prepare<[string], StreamHead>(
      `SELECT id, ifnull((SELECT max(revision) FROM events WHERE stream_id = streams.id), ${NO_STREAM}) AS revision
       FROM streams WHERE name = ?`,
    )
    this.#readDataVersion = db.prepare('PRAGMA data_version').pluck()
  }

  /** Call it inside the transaction, before the first `of`: it clears the cache if another connection has written. */
  refresh(): void {
    const dataVersion = this.#readDataVersion.get()
    if (dataVersion !== this.#dataVersion) this.clear()
    this.#dataVersion = dataVersion
  }

  of(stream: string): StreamHead {
    const current = this.#heads.get(stream)
    if (current !== undefined) return current

    const found = this.#find.get(stream) ?? { id: undefined, revision: NO_STREAM }
    this.#heads.set(stream, found)
    return found
  }

  forget(stream: string): void {
    this.#heads.delete(stream)
  }

  clear(): void {
    this.#heads.clear()
  }
}
