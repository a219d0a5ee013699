/** @module A counter of commits that readers wait on: no reader misses a commit that came between its read and its wait. */

export class Wakeups {
  #count = 0
  #closed = false
  readonly #sleepers = new Set<() => void>()

  /** Read it before reading the store; `next` then returns at once if anything was committed since. */
  get count(): number {
    return this.#count
  }

  get closed(): boolean {
    return this.#closed
  }

  get sleepers(): number {
    return this.#sleepers.size
  }

  notify(): void {
    this.#count += 1
    for (const wake of [...this.#sleepers]) wake()
  }

  close(): void {
    this.#closed = true
    this.notify()
  }

  /** Resolves when the count has passed `seen`, the signal aborts, or the store closes. Never rejects. */
  async next(seen: number, signal: AbortSignal): Promise<void> {
    if (this.#count !== seen || signal.aborted || this.#closed) return

    await new Promise<void>((resolve) => {
      const wake = (): void => {
        this.#sleepers.delete(wake)
        signal.removeEventListener('abort', wake)
        resolve()
      }
      this.#sleepers.add(wake)
      signal.addEventListener('abort', wake)
    })
  }
}
