/** @module So many at once, so many more in line, and whoever comes then is refused. */
import { OverloadedError } from './overloaded-error.ts'

const RETRY_AFTER_MS = 1_000

export interface AdmissionLimits {
  readonly atOnce: number
  readonly waiting: number
}

export class AdmissionQueue {
  readonly #what: string
  readonly #limits: AdmissionLimits
  #inside = 0
  readonly #line: (() => void)[] = []

  /** `what` is named to those who are refused. */
  constructor(what: string, limits: AdmissionLimits) {
    this.#what = what
    this.#limits = limits
  }

  /** Runs `work` in its turn. Throws `OverloadedError` where too many wait already. */
  async pass<T>(work: () => Promise<T>): Promise<T> {
    if (this.#inside >= this.#limits.atOnce) await this.#wait()
    else this.#inside += 1
    try {
      return await work()
    } finally {
      const next = this.#line.shift()
      if (next === undefined) this.#inside -= 1
      else next()
    }
  }

  #wait(): Promise<void> {
    if (this.#line.length >= this.#limits.waiting) {
      throw new OverloadedError(`too many ${this.#what} wait already`, RETRY_AFTER_MS)
    }
    return new Promise((resolve) => this.#line.push(resolve))
  }
}
