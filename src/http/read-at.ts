/** @module Reads of a run that take `asOf`: where it stood when the tenant's log had so many events. */
import type { z } from 'zod'
import type { JsonObject } from '../../schemas/json.ts'
import type { RunMoment } from '../ledger/audit/audit-reads.ts'
import type { Found } from '../ledger/ledger.ts'
import type { RunAt } from '../ledger/run-at.ts'
import { foundResponse, problemResponse } from './answers.ts'
import type { AsOfQuery } from './parameters.ts'
import { problem } from './problems.ts'
import type { RequestContext } from './route.ts'
import { withSlot } from './with-slot.ts'

/** What is read of the run as it is, where no size is given, or of the run as it was; or the refusal of that size. */
export async function readAt<T>(
  { deps, caller, run, path }: Pick<RequestContext, 'deps' | 'caller' | 'run' | 'path'>,
  asOf: number | undefined,
  read: (at: { readonly at?: RunAt }, moment?: RunMoment) => Promise<T>,
): Promise<T | Response> {
  if (asOf === undefined) return read({})
  const moment = await deps.ledger.audit?.runMoment(caller, run, { treeSize: asOf })
  if (moment === undefined) return problemResponse(noIndex, path)
  if (!moment.ok) return problemResponse(problem(moment.code, moment.detail), path)
  return read({ at: { revision: moment.revision, timeMs: Date.parse(moment.time) } }, moment)
}

/** One thing of a run, now or as it was; the past is folded from the run's events, which takes a slot. */
export async function readItem(
  context: RequestContext<z.output<typeof AsOfQuery>>,
  read: (at?: RunAt) => Promise<Found<JsonObject>>,
): Promise<Response> {
  const { path, query } = context
  if (query.asOf === undefined) return foundResponse(await read(), path)
  return withSlot(context, () => readAt(context, query.asOf, async ({ at }) => foundResponse(await read(at), path)))
}

export const noIndex = problem('not-found', 'this ledger keeps no index for auditors: it knows runs as they are now')
