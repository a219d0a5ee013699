/** @module Signs off a review of the record (HTTP-72). */
import { ReviewAnswer } from '../../../schemas/answers/reviews.ts'
import type { Json } from '../../../schemas/json.ts'
import { SignReview } from '../../../schemas/review.ts'
import { READ_TENANT_RECORDED_BEHIND } from '../../access/access.ts'
import { json, problemResponse } from '../answers.ts'
import { checkBody, readJson } from '../body.ts'
import { NoQuery } from '../parameters.ts'
import { problem } from '../problems.ts'
import { type GuardedRoute, type RequestContext, readRoute } from '../route.ts'
import { withSlot } from '../with-slot.ts'

export const reviewRoutes: readonly GuardedRoute[] = [
  {
    ...readRoute({
      path: '/v1/reviews',
      summary: 'Sign off what was reviewed: a query as of a size of the log, and what was found',
      tag: 'audit',
      access: READ_TENANT_RECORDED_BEHIND,
      query: NoQuery,
      body: SignReview,
      answer: ReviewAnswer,
      handle: signed,
    }),
    method: 'post',
  },
]

async function signed(context: RequestContext): Promise<Response> {
  const { deps, caller, path } = context
  const { signReview } = deps.ledger
  if (signReview === undefined)
    return problemResponse(problem('not-found', 'this ledger keeps no index for auditors'), path)
  const read = await readJson(context, { maxBytes: deps.settings.bodyMaxBytes })
  const body = read.ok ? checkBody(SignReview, read.value) : read
  if (!body.ok) return problemResponse(body.problem, path)
  const found = await withSlot(context, () => signReview(caller, body.value))
  if (found instanceof Response) return found
  return found.ok ? json(200, found.value as unknown as Json) : problemResponse(problem(found.code, found.detail), path)
}
