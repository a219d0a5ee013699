/**
 * @module Counted work. What a caller supplies and the ledger runs (a schema, a pattern) runs on the thread that also writes, so each
 * step of it is counted, and the count alone decides when it is refused: the same schema and payload get the same answer on a fast
 * machine and on a slow one.
 */

/** Work that several checks share, in steps of some 20 ns. */
export interface Work {
  stepsLeft: number
}

/** Thrown by `spend` when the work set aside for a check is used up. */
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
