/**
 * @module Work budgets. Schemas and patterns come from callers but run on the thread that also writes, so each step is counted and only
 * the count decides when a check is refused: the same schema and payload get the same answer on a fast machine and on a slow one.
 */

/** A budget shared by several checks, in steps of about 20 ns. */
export interface Work {
  stepsLeft: number
}

/** Thrown by `spend` when the budget of a check is used up. */
export class WorkExhausted extends Error {
  constructor() {
    super('the check takes too much work')
    this.name = 'WorkExhausted'
  }
}

export function spend(work: Work, steps: number): void {
  work.stepsLeft -= steps
  if (work.stepsLeft < 0) throw new WorkExhausted()
}
