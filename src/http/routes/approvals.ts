/** @module Approvals: the calls that wait for a decision, and the decision. */

import { z } from 'zod'
import {
  ApprovalAnswer,
  ApprovalsAnswer,
  DecisionAnswer,
  PendingApprovalsAnswer,
} from '../../../schemas/answers/waiting.ts'
import { DecideApproval } from '../../../schemas/approval.ts'
import { DECIDE_APPROVALS, READ_ALL_APPROVALS, READ_APPROVALS } from '../../access/access.ts'
import { json, problemResponse } from '../answers.ts'
import { commandRoute } from '../command-route.ts'
import { decodeCursor, encodeCursor } from '../cursor.ts'
import { listOverRuns, PAGE_DEFAULT } from '../list-over-runs.ts'
import { pageRoute } from '../page-route.ts'
import { AsOfQuery, CursorText, Limit, Positive } from '../parameters.ts'
import { problem } from '../problems.ts'
import { noIndex, readItem } from '../read-at.ts'
import { type GuardedRoute, type RequestContext, readRoute } from '../route.ts'
import { withSlot } from '../with-slot.ts'

const tag = 'approvals'
/** `asOf` is a size of the log, in events. */
const ListQuery = z.strictObject({ asOf: Positive.optional(), cursor: CursorText.optional(), limit: Limit.optional() })

export const approvalRoutes: readonly GuardedRoute[] = [
  readRoute({
    path: '/v1/approvals',
    summary:
      'What somebody in the tenant can still decide, or could at a size of the log: calls that wait, with their arguments',
    tag,
    answer: PendingApprovalsAnswer,
    access: READ_ALL_APPROVALS,
    query: ListQuery,
    handle: listPending,
  }),
  pageRoute({
    path: '/v1/runs/{run}/approvals',
    summary: 'Approvals of a run, decided or not, in order of request',
    tag,
    answer: ApprovalsAnswer,
    access: READ_APPROVALS,
    ofThePast: true,
    read: (ledger, ...request) => ledger.approvals(...request),
  }),
  readRoute({
    path: '/v1/runs/{run}/approvals/{approval}',
    summary: 'One approval: who asks for which call, with which arguments, why, until when, and who said what',
    tag,
    answer: ApprovalAnswer,
    access: READ_APPROVALS,
    query: AsOfQuery,
    handle: (context) =>
      readItem(context, (at) => context.deps.ledger.approval(context.caller, context.run, context.item, at)),
  }),
  commandRoute({
    path: '/v1/runs/{run}/approvals/{approval}/grant',
    summary: 'Say yes to a call with exactly the arguments of `argsDigest`',
    tag,
    access: DECIDE_APPROVALS,
    kind: 'grant',
    answer: DecisionAnswer,
    body: DecideApproval,
    command: (body, approvalId) => ({ kind: 'grant', approvalId, body }),
  }),
  commandRoute({
    path: '/v1/runs/{run}/approvals/{approval}/deny',
    summary: 'Say no: the call does not run',
    tag,
    access: DECIDE_APPROVALS,
    kind: 'deny',
    answer: DecisionAnswer,
    body: DecideApproval,
    command: (body, approvalId) => ({ kind: 'deny', approvalId, body }),
  }),
  commandRoute({
    path: '/v1/runs/{run}/approvals/{approval}/withdraw',
    summary: 'Take back what was granted and not used yet: the call waits for its approval again',
    tag,
    access: DECIDE_APPROVALS,
    kind: 'withdraw',
    answer: DecisionAnswer,
    body: DecideApproval,
    command: (body, approvalId) => ({ kind: 'withdraw', approvalId, body }),
  }),
]

function listPending(context: RequestContext<z.output<typeof ListQuery>>): Promise<Response> {
  const { deps, caller, query } = context
  if (query.asOf !== undefined) return listPendingAsOf(context, query.asOf)
  return listOverRuns(context, (page) => deps.ledger.pendingApprovals(caller, page))
}

/** A page of the past may hold fewer items than its limit, or none, even though another page follows. */
async function listPendingAsOf(
  context: RequestContext<z.output<typeof ListQuery>>,
  treeSize: number,
): Promise<Response> {
  const { deps, caller, path, query } = context
  const { audit, places } = deps.ledger
  if (audit === undefined) return problemResponse(noIndex, path)
  const scope = [caller.tenant, path, { asOf: treeSize }]
  const [after, eventId] = (query.cursor === undefined ? undefined : decodeCursor(places, scope, query.cursor)) ?? []
  if (query.cursor !== undefined && typeof after !== 'number') return problemResponse(notACursor, path)
  const pinned = typeof after === 'number' && typeof eventId === 'string' ? { after, eventId } : {}
  const page = { treeSize, limit: query.limit ?? PAGE_DEFAULT, ...pinned }
  const found = await withSlot(context, () => audit.approvals(caller, page))
  if (found instanceof Response) return found
  if (!found.ok) return problemResponse(problem(found.code, found.detail), path)
  const { items, next, unreadable, asOf } = found
  if (context.access !== undefined) context.access.count = items.length
  const nextCursor = next === undefined ? null : encodeCursor(places, scope, [next, asOf.eventId])
  const named = unreadable && { unreadable: unreadable.map((run) => ({ ...run })) }
  return json(200, { items, nextCursor, asOf: asOf.eventId, ...named })
}

const notACursor = problem('invalid-cursor', 'this is no cursor of this list')
