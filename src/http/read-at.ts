/** @module Reads of a run that take `asOf`: where it stood when the tenant's log had so many events. */
import type { RunMoment } from '../ledger/audit/audit-reads.ts'
import type { RunAt } from '../ledger/run-at.ts'
import { problemResponse } from './answers.ts'
import { problem } from './problems.ts'
import type { Ask } from './route.ts'

/** What is read of the run as it is, where no size is given, or of the run as it was; or the refusal of that size. */
export async function readAt<T>(
  { edge, caller, run, path }: Pick<Ask, 'edge' | 'caller' | 'run' | 'path'>,
  asOf: number | undefined,
  read: (at: { readonly at?: RunAt }, moment?: RunMoment) => Promise<T>,
): Promise<T | Response> {
  if (asOf === undefined) return read({})
  const moment = await edge.ledger.audit?.runMoment(caller, run, { treeSize: asOf })
  if (moment === undefined) return problemResponse(noIndex, path)
  if (!moment.ok) return problemResponse(problem(moment.code, moment.detail), path)
  return read({ at: { revision: moment.revision, timeMs: Date.parse(moment.time) } }, moment)
}

export const noIndex = problem('not-found', 'this ledger keeps no index for auditors: it knows runs as they are now')
