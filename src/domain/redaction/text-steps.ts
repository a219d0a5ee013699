/** @module Step accounting for text searches, by the characters that are read: charges the work budget and decides when to pause. */
import { spend, type Work } from '../json-schema/work.ts'
import type { Pauses } from '../yielding.ts'

/** Characters that a detector reads per step. */
const CHARS_A_STEP = 8
/** Work steps per step between pauses. */
const WORK_STEPS_A_STEP = 4
/** Number of characters read between two charges. */
export const BLOCK_CHARS = 4096

export class TextSteps {
  readonly work: Work
  readonly pauses: Pauses
  #chars = 0

  constructor(work: Work, pauses: Pauses) {
    this.work = work
    this.pauses = pauses
  }

  /** Counts characters read. Throws `WorkExhausted` soon after the work budget is used up. */
  read(chars: number): void {
    this.#chars += chars
    if (this.#chars >= BLOCK_CHARS) this.charge()
  }

  /** Charges the characters read since the last charge. */
  charge(): void {
    this.spend(this.#chars / CHARS_A_STEP)
    this.#chars = 0
  }

  spend(steps: number): void {
    this.pauses.count(steps / WORK_STEPS_A_STEP)
    spend(this.work, steps)
  }

  /** Call wherever the work may pause. */
  due(): boolean {
    return this.pauses.due()
  }
}
