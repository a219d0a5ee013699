/** @module How far one statement looks: as far as takes a millisecond or two, whatever it finds there and by which index. */

/** Looked through at first, and always allowed: some milliseconds where every row has to be looked at. */
const FIRST_WIDTH = 4_000
/** Where hardly anything is found, a longer stretch costs no more. */
const WIDEST = 1_024_000
const SHORT_MS = 1
const LONG_MS = 3

export class Stretch {
  #width = FIRST_WIDTH
  readonly #nowMs: () => number

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs
  }

  get width(): number {
    return this.#width
  }

  /** Does the work on so much, and learns from the time it took how wide the next one may be. */
  measure<T>(work: () => T): T {
    const startedMs = this.#nowMs()
    const done = work()
    const tookMs = this.#nowMs() - startedMs
    if (tookMs < SHORT_MS) this.#width = Math.min(2 * this.#width, WIDEST)
    else if (tookMs > LONG_MS) this.#width = Math.max(this.#width / 2, FIRST_WIDTH)
    return done
  }
}
