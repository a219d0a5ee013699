/** @module Suspects: accepted changes without an explanation, and their review by a person. */

import { z } from 'zod'
import { OpenSuspectsAnswer, ReviewAnswer, SuspectsAnswer } from '../../../schemas/answers/handoffs.ts'
import { ReviewSuspects } from '../../../schemas/requests.ts'
import { DECIDE_APPROVALS, READ_ALL_APPROVALS, READ_APPROVALS } from '../../access/access.ts'
import { commandRoute } from '../command-route.ts'
import { listOverRuns } from '../list-over-runs.ts'
import { pageRoute } from '../page-route.ts'
import { CursorText, Limit } from '../parameters.ts'
import { type GuardedRoute, readRoute } from '../route.ts'

const tag = 'suspects'

export const suspectRoutes: readonly GuardedRoute[] = [
  readRoute({
    path: '/v1/suspects',
    summary: "Open suspects of the tenant's open runs, newest run first: what changed where, by whom, unexplained",
    tag,
    answer: OpenSuspectsAnswer,
    access: READ_ALL_APPROVALS,
    query: z.strictObject({ cursor: CursorText.optional(), limit: Limit.optional() }),
    handle: (context) => listOverRuns(context, (page) => context.deps.ledger.openSuspects(context.caller, page)),
  }),
  pageRoute({
    path: '/v1/runs/{run}/suspects',
    summary: 'Open suspects of a run, oldest first, and how many there are',
    tag,
    answer: SuspectsAnswer,
    access: READ_APPROVALS,
    ofThePast: true,
    read: async (ledger, ...request) => {
      const found = await ledger.suspects(...request)
      if (!found.ok) return found
      const { bytes: _, ...value } = found.value
      return { ...found, value }
    },
  }),
  commandRoute({
    path: '/v1/runs/{run}/suspects',
    summary: 'Confirm suspects, or reject them: then the run goes back to before the first of them',
    tag,
    access: DECIDE_APPROVALS,
    kind: 'review',
    answer: ReviewAnswer,
    body: ReviewSuspects,
    command: (body) => ({ kind: 'review', body }),
  }),
]
