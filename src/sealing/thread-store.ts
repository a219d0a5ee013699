/**
 * @module The store as a thread sees it that seals for its part of the runs: it reads the file on a connection of its own, and hands appends to the
 * thread that owns the store. They leave in groups, in order; nobody else appends to its streams.
 */

import { type Append, type AppendResult, type EventStore, type StoreStatus, takesReads } from '../store/event-store.ts'
import { FileStore } from '../store/sqlite/file-store.ts'
import type { FromSealer, RefusedAppend } from './protocol.ts'
import { packAppends } from './sent-appends.ts'

/** So many are a group of their own before the turn ends: the writer starts on them while this thread still seals the rest. */
const EARLY_GROUP_APPENDS = 16
const RETRY_MS = 500

interface Waiting {
  readonly append: Append
  readonly resolve: (result: AppendResult) => void
  readonly reject: (error: Error) => void
}

export interface ThreadStoreOptions {
  readonly url: string
  readonly path: string
  readonly maxAppendBytes: number
  readonly say: (message: FromSealer) => void
}

export class ThreadStore extends FileStore implements EventStore {
  readonly url: string
  readonly maxAppendBytes: number
  readonly #path: string
  readonly #say: ThreadStoreOptions['say']
  readonly #handedOver = new Map<number, readonly Waiting[]>()
  #waiting: Waiting[] = []
  #groups = 0
  #isFlushing = false
  #epoch = 0
  #isReading = false

  constructor({ url, path, maxAppendBytes, say }: ThreadStoreOptions) {
    super('the thread has not heard of the store yet')
    this.url = url
    this.#path = path
    this.maxAppendBytes = maxAppendBytes
    this.#say = say
  }

  /**
   * The owner's word. While its file is not open nothing is read here either: what a failed write left in the log may be read, and may be gone
   * after the next opening. Throws the driver's error where the file cannot be read.
   */
  heard(epoch: number, status: StoreStatus): void {
    this.#epoch = epoch
    const isReading = takesReads(status)
    if (!isReading) this.reads.pause()
    else if (!this.#isReading) this.reads.open(this.#path)
    this.#isReading = isReading
    this.setStatus(status)
  }

  append(append: Append): Promise<AppendResult> {
    if (!this.#isReading) {
      const detail = this.status().detail ?? 'the store is not open'
      return Promise.resolve({ kind: 'unavailable', detail, retryAfterMs: RETRY_MS })
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ append, resolve, reject })
      if (this.#waiting.length >= EARLY_GROUP_APPENDS) this.#flush()
      else this.#flushSoon()
    })
  }

  /** What became of a group. */
  appended(id: number, results: readonly (AppendResult | RefusedAppend)[]): void {
    const group = this.#handedOver.get(id) ?? []
    this.#handedOver.delete(id)
    for (const [index, { resolve, reject }] of group.entries()) {
      const result = results[index]
      if (result === undefined || result.kind === 'error')
        reject(new TypeError(result?.message ?? 'the store did not answer'))
      else resolve(result)
    }
  }

  #flushSoon(): void {
    if (this.#isFlushing) return
    this.#isFlushing = true
    setImmediate(() => {
      this.#isFlushing = false
      this.#flush()
    })
  }

  #flush(): void {
    if (this.#waiting.length === 0) return
    const waiting = this.#waiting
    this.#waiting = []
    this.#groups += 1
    this.#handedOver.set(this.#groups, waiting)
    const appends = waiting.map(({ append }) => append)
    this.#say({ kind: 'append', epoch: this.#epoch, appends: packAppends(this.#groups, appends) })
  }

  /** Nothing tells this thread of commits: it follows nobody. */
  subscribe(): never {
    throw new TypeError('a thread that seals does not follow the store')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.reads[Symbol.dispose]()
  }
}
