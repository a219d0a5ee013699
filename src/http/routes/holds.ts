/** @module Legal holds: what must not be erased for now (HTTP-70, HTTP-71). */
import { HoldAnswer, HoldsAnswer } from '../../../schemas/answers/holds.ts'
import { PlaceHold, ReleaseHold } from '../../../schemas/hold.ts'
import type { Json } from '../../../schemas/json.ts'
import { READ_HOLDS, WRITE_HOLDS } from '../../access/access.ts'
import type { Answered } from '../../ledger/subjects/subjects.ts'
import { json, problemResponse } from '../answers.ts'
import { checkBody, readJson } from '../body.ts'
import { NoQuery } from '../parameters.ts'
import { type GuardedRoute, type RequestContext, readRoute } from '../route.ts'
import { withSlot } from '../with-slot.ts'

const tag = 'subjects'

export const holdRoutes: readonly GuardedRoute[] = [
  readRoute({
    path: '/v1/holds',
    summary: 'Legal holds: those that are active, and those that were released',
    tag,
    access: READ_HOLDS,
    query: NoQuery,
    answer: HoldsAnswer,
    handle: async (context) => {
      const found = await withSlot(context, () => context.deps.ledger.holds.list(context.caller))
      return found instanceof Response ? found : answered(context, found)
    },
  }),
  {
    ...readRoute({
      path: '/v1/holds',
      summary: 'Place a legal hold on a run, a subject or the tenant: nothing that it covers is erased',
      tag,
      access: WRITE_HOLDS,
      query: NoQuery,
      body: PlaceHold,
      answer: HoldAnswer,
      handle: placed,
    }),
    method: 'post',
  },
  {
    ...readRoute({
      path: '/v1/holds/{hold}/release',
      summary: 'Release a legal hold',
      tag,
      access: WRITE_HOLDS,
      query: NoQuery,
      body: ReleaseHold,
      answer: HoldAnswer,
      handle: released,
    }),
    method: 'post',
  },
]

async function placed(context: RequestContext): Promise<Response> {
  const { deps, caller, path } = context
  const read = await readJson(context, { maxBytes: deps.settings.bodyMaxBytes })
  const body = read.ok ? checkBody(PlaceHold, read.value) : read
  if (!body.ok) return problemResponse(body.problem, path)
  return answered(context, await deps.ledger.holds.place(caller, body.value))
}

async function released(context: RequestContext): Promise<Response> {
  const { deps, caller, path, item } = context
  const read = await readJson(context, { maxBytes: deps.settings.bodyMaxBytes })
  const body = read.ok ? checkBody(ReleaseHold, read.value) : read
  if (!body.ok) return problemResponse(body.problem, path)
  return answered(context, await deps.ledger.holds.release(caller, item, body.value))
}

function answered({ path }: RequestContext, found: Answered<object>): Response {
  return found.ok ? json(200, found.value as unknown as Json) : problemResponse(found.refusal, path)
}
