/** @module How far one statement looks: as far as takes a millisecond or two, whatever it finds there and by which index. */

/** Rows: some milliseconds where every one has to be looked at. */
const FIRST_WIDTH = 4_000
/** Where hardly anything is found, a longer stretch costs no more. */
const WIDEST = 1_024_000
const SHORT_MS = 1
const LONG_MS = 3

export class ScanWindow {
  #width: number
  readonly #nowMs: () => number
  readonly #firstWidth: number

  /** `firstWidth`: looked through at first, and always allowed. */
  constructor(nowMs: () => number = () => performance.now(), firstWidth = FIRST_WIDTH) {
    this.#nowMs = nowMs
    this.#firstWidth = firstWidth
    this.#width = firstWidth
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
    else if (tookMs > LONG_MS) this.#width = Math.max(this.#width / 2, this.#firstWidth)
    return done
  }
}
