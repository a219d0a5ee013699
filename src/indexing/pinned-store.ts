/** @module The store as one follower reads it: up to the position that the writing thread has announced, and no further. */
import { type EventStore, type Position, StoreUnavailableError } from '../store/event-store.ts'
import { type ReadHalf, readOnlyStore } from '../store/read-only-store.ts'

const BEHIND_RETRY_MS = 1_000

export class PinnedStore {
  readonly store: EventStore
  readonly #reader: ReadHalf
  #until: Position | undefined

  constructor(reader: ReadHalf) {
    this.#reader = reader
    this.store = readOnlyStore({
      ...reader,
      end: async () => this.#until,
      readAll: ({ until, ...options } = {}) => reader.readAll({ ...options, until: this.#earlier(until) }),
    })
  }

  /** Extends the readable range at least to `until`. Throws `StoreUnavailableError` if the store that is read here ends before it. */
  async reach(until: Position): Promise<void> {
    const end = await this.#reader.end()
    if (end === undefined || this.#reader.comparePositions(end, until) < 0)
      throw new StoreUnavailableError('the store ends before what was acknowledged', BEHIND_RETRY_MS)
    if (this.#until === undefined || this.#reader.comparePositions(this.#until, until) < 0) this.#until = until
  }

  #earlier(until: Position | undefined): Position | undefined {
    if (until === undefined || this.#until === undefined) return this.#until
    return this.#reader.comparePositions(until, this.#until) < 0 ? until : this.#until
  }
}
