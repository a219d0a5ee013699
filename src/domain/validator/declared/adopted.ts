/** @module Converts the declarations of a run's agents to `moves` of an operator's policy. Pure. */
import type { RunAnswer } from '../../../../schemas/answers/runs.ts'
import type { Move } from '../../../../schemas/place-policy.ts'

export function adoptedMoves(declared: NonNullable<RunAnswer['declared']>): Move[] {
  return declared.map(({ path, as, by, reason }) => ({ path, as, ...(by !== undefined && { by }), reason }) as Move)
}
