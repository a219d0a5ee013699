/** @module Chunks from where they come in to whoever reads them. The end is told only when the call is settled. */

export class ChunkFeed<Chunk> {
  #waiting: Chunk[] = []
  #wake: (() => void) | undefined
  #ended: { readonly error?: unknown } | undefined
  readonly #stop: () => void

  /** `stop` is called where the reader wants no more. */
  constructor(stop: () => void) {
    this.#stop = stop
  }

  push(chunk: Chunk): void {
    this.#waiting.push(chunk)
    this.#wake?.()
  }

  /** Whoever reads to the end waits for `settled`, and gets its error. */
  endWith(settled: Promise<unknown>): void {
    const end = (ended: { readonly error?: unknown }): void => {
      this.#ended = ended
      this.#wake?.()
    }
    settled.then(
      () => end({}),
      (error: unknown) => end({ error }),
    )
  }

  /** To be read once. Left early, it stops the source and waits until the call is settled. */
  async *read(): AsyncGenerator<Chunk, void> {
    let over = false
    try {
      for (;;) {
        const chunks = this.#waiting
        this.#waiting = []
        yield* chunks
        if (this.#waiting.length > 0) continue
        if (this.#ended !== undefined) {
          over = true
          if ('error' in this.#ended) throw this.#ended.error
          return
        }
        await this.#next()
      }
    } finally {
      if (!over) await this.#leave()
    }
  }

  async #leave(): Promise<void> {
    this.#stop()
    while (this.#ended === undefined) await this.#next()
  }

  #next(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }
}
