/** @module The losses of a tenant, and the acknowledgement of those that cannot be recovered (HTTP-37). */
import { AcknowledgeLoss, AcknowledgementAnswer, LossesAnswer } from '../../../schemas/answers/losses.ts'
import type { Json } from '../../../schemas/json.ts'
import { ACKNOWLEDGE_LOSSES, READ_TENANT_RECORDED_BEHIND } from '../../access/access.ts'
import { json, problemResponse } from '../answers.ts'
import { checkBody, readJson } from '../body.ts'
import { NoQuery } from '../parameters.ts'
import { type GuardedRoute, type RequestContext, readRoute } from '../route.ts'
import { withSlot } from '../with-slot.ts'

const tag = 'history'

export const lossRoutes: readonly GuardedRoute[] = [
  readRoute({
    path: '/v1/losses',
    summary: 'What the tenant has lost: open losses, and those that were acknowledged',
    tag,
    access: READ_TENANT_RECORDED_BEHIND,
    query: NoQuery,
    answer: LossesAnswer,
    handle: async (context) => {
      const { deps, caller, path } = context
      await deps.ledger.integrity.reached()
      const found = await withSlot(context, () => deps.ledger.lostEvents.list(caller))
      if (found instanceof Response) return found
      return found.ok ? json(200, found.value as unknown as Json) : problemResponse(found.refusal, path)
    },
  }),
  {
    ...readRoute({
      path: '/v1/losses/acknowledge',
      summary: 'Acknowledge a loss that cannot be had again: the log goes on with a hole that it names',
      tag,
      access: ACKNOWLEDGE_LOSSES,
      query: NoQuery,
      body: AcknowledgeLoss,
      answer: AcknowledgementAnswer,
      handle: acknowledged,
    }),
    method: 'post',
  },
]

async function acknowledged(context: RequestContext): Promise<Response> {
  const { deps, caller, path } = context
  const read = await readJson(context, { maxBytes: deps.settings.bodyMaxBytes })
  const body = read.ok ? checkBody(AcknowledgeLoss, read.value) : read
  if (!body.ok) return problemResponse(body.problem, path)
  const found = await deps.ledger.lostEvents.acknowledge(caller, body.value)
  return found.ok ? json(200, found.value as unknown as Json) : problemResponse(found.refusal, path)
}
