/** @module Reads of a run that take `asOf`: the state of the run when the tenant's log had that many events. */
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

/** Reads the run as of a size of the log, or as it is now if none is given; or the refusal for that size. */
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

/** Reads one item of a run, now or in the past; a past state is folded from the run's events, which takes a slot. */
export async function readItem(
  context: RequestContext<z.output<typeof AsOfQuery>>,
  read: (at?: RunAt) => Promise<Found<JsonObject>>,
): Promise<Response> {
  const { path, query } = context
  if (query.asOf === undefined) return foundResponse(await read(), path)
  return withSlot(context, () => readAt(context, query.asOf, async ({ at }) => foundResponse(await read(at), path)))
}

export const noIndex = problem('not-found', 'this ledger keeps no index for auditors: it knows runs as they are now')
