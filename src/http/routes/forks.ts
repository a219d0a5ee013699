/** @module Forks: open one over the current context, report each branch, join; and read them. */
import { BranchAnswer, ForkAnswer, ForksAnswer, JoinAnswer } from '../../../schemas/answers/forks.ts'
import { JoinFork, ReportBranch, StartFork } from '../../../schemas/requests.ts'
import { READ_PAYLOADS, WRITE_RUNS } from '../../access/access.ts'
import { commandRoute } from '../command-route.ts'
import { pageRoute } from '../page-route.ts'
import type { GuardedRoute } from '../route.ts'

const tag = 'forks'

export const forkRoutes: readonly GuardedRoute[] = [
  commandRoute({
    path: '/v1/runs/{run}/forks',
    summary: 'Open a fork: every branch sees the context as it is now, and nothing else changes it until the join',
    tag,
    access: WRITE_RUNS,
    kind: 'fork',
    answer: ForkAnswer,
    body: StartFork,
    command: (body) => ({ kind: 'fork', body }),
    location: (_, runPath) => `${runPath}/forks`,
  }),
  pageRoute({
    path: '/v1/runs/{run}/forks',
    summary: 'Forks with the state of each branch, oldest first',
    tag,
    answer: ForksAnswer,
    access: READ_PAYLOADS,
    ofThePast: true,
    read: (ledger, ...request) => ledger.forks(...request),
  }),
  commandRoute({
    path: '/v1/runs/{run}/forks/{fork}/branches',
    summary: 'Report a branch: its output is judged against the frozen context; refused, it is a failed branch',
    tag,
    access: WRITE_RUNS,
    kind: 'branch',
    answer: BranchAnswer,
    body: ReportBranch,
    command: (body, forkId) => ({ kind: 'branch', forkId, body }),
    location: (_, runPath) => `${runPath}/forks`,
  }),
  commandRoute({
    path: '/v1/runs/{run}/forks/{fork}/join',
    summary: 'Join a fork: 201 with receipts and the merged context, 409 where nothing can be merged',
    tag,
    access: WRITE_RUNS,
    kind: 'join',
    answer: JoinAnswer,
    body: JoinFork,
    command: (body, forkId) => ({ kind: 'join', forkId, body }),
    location: ({ revision }, runPath) => `${runPath}/context?revision=${revision}`,
  }),
]
