/** @module The steps that looking through texts takes, counted by the characters that are really read: who pays for them, and when to pause. */
import { spend, type Work } from '../json-schema/work.ts'
import type { Pauses } from '../paced.ts'

/** Characters that a detector reads in the time of a step. */
const CHARS_A_STEP = 8
/** Steps of work in the time of a step between pauses. */
const WORK_STEPS_A_STEP = 4
/** Characters that are read between two looks at the count. */
export const BLOCK_CHARS = 4096

export class TextSteps {
  readonly work: Work
  readonly pauses: Pauses
  #chars = 0

  constructor(work: Work, pauses: Pauses) {
    this.work = work
    this.pauses = pauses
  }

  /** Throws `WorkExhausted` soon after the work is used up. */
  read(chars: number): void {
    this.#chars += chars
    if (this.#chars >= BLOCK_CHARS) this.charge()
  }

  /** Charges what was read. */
  charge(): void {
    this.spend(this.#chars / CHARS_A_STEP)
    this.#chars = 0
  }

  spend(steps: number): void {
    this.pauses.count(steps / WORK_STEPS_A_STEP)
    spend(this.work, steps)
  }

  /** To be asked wherever the work may pause. */
  due(): boolean {
    return this.pauses.due()
  }
}
