/** @module Adaptive limit on the rows that one statement scans, so that it takes a millisecond or two regardless of its matches and index. */

/** Rows: a few milliseconds if every row has to be examined. */
const FIRST_WIDTH = 4_000
/** If there are few matches, scanning a longer range costs no more. */
const WIDEST = 1_024_000
const SHORT_MS = 1
const LONG_MS = 3

export class ScanWindow {
  #width: number
  readonly #nowMs: () => number
  readonly #firstWidth: number

  /** `firstWidth`: initial and smallest width, in rows. */
  constructor(nowMs: () => number = () => performance.now(), firstWidth = FIRST_WIDTH) {
    this.#nowMs = nowMs
    this.#firstWidth = firstWidth
    this.#width = firstWidth
  }

  get width(): number {
    return this.#width
  }

  /** Runs work over `width` rows and adapts the next width to the time that it took. */
  measure<T>(work: () => T): T {
    const startedMs = this.#nowMs()
    const done = work()
    const tookMs = this.#nowMs() - startedMs
    if (tookMs < SHORT_MS) this.#width = Math.min(2 * this.#width, WIDEST)
    else if (tookMs > LONG_MS) this.#width = Math.max(this.#width / 2, this.#firstWidth)
    return done
  }
}
