/** @module A limit on concurrent work with a bounded waiting line; calls beyond both are refused. */
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

  /** `what`: name of the work in the error message. */
  constructor(what: string, limits: AdmissionLimits) {
    this.#what = what
    this.#limits = limits
  }

  /** Runs `work` when a slot is free. Throws `OverloadedError` if too many calls wait already. */
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
