/** @module The budget: reserve before a call, settle or release after, record what was used. */
import { PostReservation, PostUsage, ReleaseReservation, SettleReservation } from '../../../schemas/requests.ts'
import { READ_RUNS, WRITE_RUNS } from '../../access/access.ts'
import { foundResponse } from '../answers.ts'
import { commandRoute } from '../command-route.ts'
import { NoQuery } from '../parameters.ts'
import { type GuardedRoute, readRoute } from '../route.ts'

const tag = 'budget'

export const budgetRoutes: readonly GuardedRoute[] = [
  readRoute({
    path: '/v1/runs/{run}/budget',
    summary: 'Limits, spend and reservations',
    tag,
    access: READ_RUNS,
    query: NoQuery,
    handle: async ({ edge, caller, run, path }) => foundResponse(await edge.ledger.budget(caller, run), path),
  }),
  commandRoute({
    path: '/v1/runs/{run}/reservations',
    summary: 'Reserve tokens or money: 409 budget-exceeded where the budget does not hold it',
    tag,
    access: WRITE_RUNS,
    kind: 'reserve',
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
    body: SettleReservation,
    command: (body, reservationId) => ({ kind: 'settle-reservation', reservationId, body }),
  }),
  commandRoute({
    path: '/v1/runs/{run}/reservations/{reservation}/release',
    summary: 'Release a reservation unused',
    tag,
    access: WRITE_RUNS,
    kind: 'release',
    body: ReleaseReservation,
    command: (body, reservationId) => ({ kind: 'release', reservationId, body }),
  }),
  commandRoute({
    path: '/v1/runs/{run}/usage',
    summary: 'Record usage known after the fact: never refused, shown as overshoot where it is over',
    tag,
    access: WRITE_RUNS,
    kind: 'usage',
    body: PostUsage,
    command: (body) => ({ kind: 'usage', body }),
    location: (_, runPath) => `${runPath}/budget`,
  }),
]
