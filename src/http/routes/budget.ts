/** @module The budget: reserve before a call, settle or release after it, record usage. */

import { z } from 'zod'
import { BudgetAnswer, ReleasedAnswer, ReservedAnswer, UsageAnswer } from '../../../schemas/answers/budget.ts'
import { PostReservation, PostUsage, ReleaseReservation, SettleReservation } from '../../../schemas/requests.ts'
import { READ_RUNS, WRITE_RUNS } from '../../access/access.ts'
import { foundResponse, problemResponse } from '../answers.ts'
import { commandRoute } from '../command-route.ts'
import { decodeCursor, encodeCursor } from '../cursor.ts'
import { CursorText, Limit, PAGE_DEFAULT, Positive } from '../parameters.ts'
import { problem } from '../problems.ts'
import { readAt } from '../read-at.ts'
import { type GuardedRoute, type RequestContext, readRoute } from '../route.ts'
import { withSlot } from '../with-slot.ts'

const tag = 'budget'

const BudgetQuery = z.strictObject({
  /** Size of the log, in events. */
  asOf: Positive.optional(),
  cursor: CursorText.optional(),
  limit: Limit.optional(),
})

export const budgetRoutes: readonly GuardedRoute[] = [
  readRoute({
    path: '/v1/runs/{run}/budget',
    summary: 'Limits and spend, and reservations page by page, oldest first',
    tag,
    answer: BudgetAnswer,
    access: READ_RUNS,
    query: BudgetQuery,
    handle: readBudget,
  }),
  commandRoute({
    path: '/v1/runs/{run}/reservations',
    summary: 'Reserve tokens or money: 409 budget-exceeded where the budget does not hold it',
    tag,
    access: WRITE_RUNS,
    kind: 'reserve',
    answer: ReservedAnswer,
    body: PostReservation,
    command: (body) => ({ kind: 'reserve', body }),
    location: (_, runPath) => `${runPath}/budget`,
  }),
  commandRoute({
    path: '/v1/runs/{run}/reservations/{reservation}/settle',
    summary: 'Charge what was used, release the rest',
    tag,
    access: WRITE_RUNS,
    kind: 'settle-reservation',
    answer: UsageAnswer,
    body: SettleReservation,
    command: (body, reservationId) => ({ kind: 'settle-reservation', reservationId, body }),
  }),
  commandRoute({
    path: '/v1/runs/{run}/reservations/{reservation}/release',
    summary: 'Release a reservation unused',
    tag,
    access: WRITE_RUNS,
    kind: 'release',
    answer: ReleasedAnswer,
    body: ReleaseReservation,
    command: (body, reservationId) => ({ kind: 'release', reservationId, body }),
  }),
  commandRoute({
    path: '/v1/runs/{run}/usage',
    summary: 'Record usage known after the fact: never refused, shown as overshoot where it is over',
    tag,
    access: WRITE_RUNS,
    kind: 'usage',
    answer: UsageAnswer,
    body: PostUsage,
    command: (body) => ({ kind: 'usage', body }),
    location: (_, runPath) => `${runPath}/budget`,
  }),
]

const notACursor = problem('invalid-cursor', 'this is no cursor of this list')

async function readBudget(context: RequestContext<z.output<typeof BudgetQuery>>): Promise<Response> {
  const { deps, caller, run, path, query } = context
  const { places } = deps.ledger
  const { asOf } = query
  const scope = [caller.tenant, path, ...(asOf === undefined ? [] : [{ asOf }])]
  const [after] = query.cursor === undefined ? [] : (decodeCursor(places, scope, query.cursor) ?? [null])
  if (after !== undefined && typeof after !== 'string') return problemResponse(notACursor, path)
  const page = { ...(after !== undefined && { after }), limit: query.limit ?? PAGE_DEFAULT }
  const read = () => readAt(context, asOf, (at) => deps.ledger.budget(caller, run, { ...page, ...at }))
  // A past state is folded from the run's events, which takes a slot.
  const found = await (asOf === undefined ? read() : withSlot(context, read))
  if (found instanceof Response) return found
  if (!found.ok) return foundResponse(found, path)
  const { next, ...value } = found.value
  const nextCursor = typeof next === 'string' ? encodeCursor(places, scope, [next]) : null
  return foundResponse({ ...found, value: { ...value, nextCursor } }, path)
}
