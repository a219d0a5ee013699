/** @module Tool calls: claim, settle, renew, resolve, read; and the rollback that undoes them. */
import { ClaimCall, RenewCall, ResolveCall, SettleCall, StartCompensation } from '../../../schemas/requests.ts'
import { READ_RUNS, WRITE_RUNS } from '../../access/access.ts'
import { foundResponse } from '../answers.ts'
import { commandRoute, textMember } from '../command-route.ts'
import { pageRoute } from '../page-route.ts'
import { NoQuery } from '../query.ts'
import { type GuardedRoute, readRoute } from '../route.ts'
import { claimOrWait } from '../wait-for-call.ts'
import { withSlot } from '../with-slot.ts'

const tag = 'calls'

export const callRoutes: readonly GuardedRoute[] = [
  commandRoute({
    path: '/v1/runs/{run}/calls',
    summary:
      'Claim a call: 201 to run it, 200 with the recorded outcome, 409 while another runs it (Prefer: wait=20 waits)',
    tag,
    access: WRITE_RUNS,
    kind: 'claim',
    body: ClaimCall,
    command: (body) => ({ kind: 'claim', body }),
    location: ({ body }, runPath) => `${runPath}/calls/${textMember(body, 'callId')}`,
    execute: claimOrWait,
  }),
  pageRoute({
    path: '/v1/runs/{run}/calls',
    summary: 'Calls with status, attempts and outcome, in order of claim',
    tag,
    read: (ledger, ...request) => ledger.calls(...request),
  }),
  readRoute({
    path: '/v1/runs/{run}/calls/{call}',
    summary: 'One call',
    tag,
    access: READ_RUNS,
    query: NoQuery,
    handle: async ({ edge, caller, run, item, path }) => foundResponse(await edge.ledger.call(caller, run, item), path),
  }),
  commandRoute({
    path: '/v1/runs/{run}/calls/{call}/settle',
    summary: 'Record the outcome of a call',
    tag,
    access: WRITE_RUNS,
    kind: 'settle',
    body: SettleCall,
    command: (body, callId) => ({ kind: 'settle', callId, body }),
  }),
  commandRoute({
    path: '/v1/runs/{run}/calls/{call}/renew',
    summary: 'Prolong the lease of a call',
    tag,
    access: WRITE_RUNS,
    kind: 'renew',
    body: RenewCall,
    command: (body, callId) => ({ kind: 'renew', callId, body }),
  }),
  commandRoute({
    path: '/v1/runs/{run}/calls/{call}/resolve',
    summary: 'End the doubt about a call, on evidence',
    tag,
    access: WRITE_RUNS,
    kind: 'resolve',
    body: ResolveCall,
    command: (body, callId) => ({ kind: 'resolve', callId, body }),
  }),
  commandRoute({
    path: '/v1/runs/{run}/compensations',
    summary: 'Start a rollback: the plan in reverse order, group by group',
    tag: 'compensations',
    access: WRITE_RUNS,
    kind: 'compensate',
    body: StartCompensation,
    command: (body) => ({ kind: 'compensate', body }),
    location: (_, runPath) => `${runPath}/compensations`,
  }),
  readRoute({
    path: '/v1/runs/{run}/compensations',
    summary: "The rollback's plan with the state of each action",
    tag: 'compensations',
    access: READ_RUNS,
    query: NoQuery,
    handle: async (ask) => {
      const { edge, caller, run, path } = ask
      const found = await withSlot(ask, () => edge.ledger.compensations(caller, run))
      return found instanceof Response ? found : foundResponse(found, path)
    },
  }),
]
