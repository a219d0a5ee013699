/** @module How many equal calls of a session have a final outcome, and which counts calls of this process hold now. */

export class EqualCalls {
  readonly #first = new Map<string, number>()
  readonly #held = new Map<string, Set<number>>()

  /** The lowest count without a known final outcome. */
  first(digest: string): number {
    return this.#first.get(digest) ?? 0
  }

  /** False where a call of this process holds the count. */
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

  /** This count has an outcome for good. */
  done(digest: string, count: number): void {
    this.release(digest, count)
    if (count === this.first(digest)) this.#first.set(digest, count + 1)
  }
}
