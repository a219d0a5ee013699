/** @module Passes chunks from a source to its readers. The end is passed on only once the call is settled. */

/** The source of the chunks. */
export interface ChunkSource {
  /** Called when the last reader stops before the end. */
  readonly stop: () => void
  /** Whether the run has halted. The source is then read to its end even if the reader stops, for the next execution of the run (RUN-186). */
  readonly isHalted: () => boolean
}

export class ChunkFeed<Chunk> implements AsyncIterable<Chunk> {
  readonly #chunks: Chunk[] = []
  #wakes: (() => void)[] = []
  #ended: { readonly error?: unknown } | undefined
  #readers = 0
  readonly #source: ChunkSource

  constructor(source: ChunkSource) {
    this.#source = source
  }

  get isEmpty(): boolean {
    return this.#chunks.length === 0
  }

  push(chunk: Chunk): void {
    this.#chunks.push(chunk)
    this.#wake()
  }

  /** A reader that reaches the end waits for `settled`, and receives its error. */
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

  /** Each reader starts at the first chunk. If all readers stop early, the source is stopped, and the last one waits until the call is settled. */
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
    if (!this.#source.isHalted()) this.#source.stop()
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
