/** @module For equal calls of a session: the first count without a final outcome, and the counts held by calls of this process. */

export class EqualCalls {
  readonly #first = new Map<string, number>()
  readonly #held = new Map<string, Set<number>>()

  /** The lowest count without a known final outcome. */
  first(digest: string): number {
    return this.#first.get(digest) ?? 0
  }

  /** Returns false if a call of this process holds the count. */
  take(digest: string, count: number): boolean {
    const held = this.#held.get(digest) ?? new Set()
    if (held.has(count)) return false
    this.#held.set(digest, held.add(count))
    return true
  }

  release(digest: string, count: number): void {
    const held = this.#held.get(digest)
    held?.delete(count)
    if (held?.size === 0) this.#held.delete(digest)
  }

  /** The call of this count has a final outcome. */
  done(digest: string, count: number): void {
    this.release(digest, count)
    if (count === this.first(digest)) this.#first.set(digest, count + 1)
  }
}
