/** @module Chunks from where they come in to whoever reads them. The end is passed on only when the call is settled. */

export class ChunkFeed<Chunk> implements AsyncIterable<Chunk> {
  readonly #chunks: Chunk[] = []
  #wakes: (() => void)[] = []
  #ended: { readonly error?: unknown } | undefined
  #readers = 0
  readonly #stop: () => void

  /** `stop` is called where the last reader wants no more. */
  constructor(stop: () => void) {
    this.#stop = stop
  }

  get isEmpty(): boolean {
    return this.#chunks.length === 0
  }

  push(chunk: Chunk): void {
    this.#chunks.push(chunk)
    this.#wake()
  }

  /** Whoever reads to the end waits for `settled`, and gets its error. */
  endWith(settled: Promise<unknown>): void {
    const end = (ended: { readonly error?: unknown }): void => {
      this.#ended = ended
      this.#wake()
    }
    settled.then(
      () => end({}),
      (error: unknown) => end({ error }),
    )
  }

  /** From the first chunk, for each reader. Left early by all who read, it stops the source and waits until the call is settled. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Chunk, void> {
    let isOver = false
    this.#readers += 1
    try {
      for (let at = 0; ; ) {
        for (; at < this.#chunks.length; at += 1) yield this.#chunks[at] as Chunk
        if (this.#ended !== undefined) {
          isOver = true
          if ('error' in this.#ended) throw this.#ended.error
          return
        }
        await this.#next()
      }
    } finally {
      this.#readers -= 1
      if (!isOver && this.#readers === 0) await this.#leave()
    }
  }

  async #leave(): Promise<void> {
    this.#stop()
    while (this.#ended === undefined) await this.#next()
  }

  #wake(): void {
    const wakes = this.#wakes
    this.#wakes = []
    for (const wake of wakes) wake()
  }

  #next(): Promise<void> {
    return new Promise((resolve) => {
      this.#wakes.push(resolve)
    })
  }
}
