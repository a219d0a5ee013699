/** @module Tool calls: claim, settle, renew, resolve, read; and the rollback that undoes them. */

import { z } from 'zod'
import {
  CallAnswer,
  CallsAnswer,
  CaptureAnswer,
  ClaimAnswer,
  CompensationAnswer,
  CompensationsAnswer,
  OpenCallsAnswer,
  SettledCallAnswer,
} from '../../../schemas/answers/calls.ts'
import { RecordCapture } from '../../../schemas/capture.ts'
import { ClaimCall, RenewCall, ResolveCall, SettleCall, StartCompensation } from '../../../schemas/requests.ts'
import { JsonValue } from '../../../schemas/values.ts'
import { READ_PAYLOADS, WRITE_RUNS } from '../../access/access.ts'
import { foundResponse, json, jsonText, problemResponse } from '../answers.ts'
import { commandRoute, textMember } from '../command-route.ts'
import { decodeCursor, encodeCursor, notACursor } from '../cursor.ts'
import { pageRoute } from '../page-route.ts'
import { CursorText, Limit, NoQuery, PAGE_DEFAULT } from '../parameters.ts'
import { type GuardedRoute, type RequestContext, readRoute } from '../route.ts'
import { claimOrWait } from '../wait-for-call.ts'
import { withSlot } from '../with-slot.ts'

const tag = 'calls'

const OpenCallsQuery = z.strictObject({
  status: z.enum(['open', 'in-doubt', 'overdue']).optional(),
  equalTo: z.uuid().optional(),
  cursor: CursorText.optional(),
  limit: Limit.optional(),
})

async function listOpenCalls(context: RequestContext<z.output<typeof OpenCallsQuery>>): Promise<Response> {
  const { deps, caller, path, query, access } = context
  const { cursor, limit = PAGE_DEFAULT, status = 'open', equalTo } = query
  const scope = ['calls', caller.tenant, status, equalTo ?? '']
  const place = cursor === undefined ? [] : (decodeCursor(deps.ledger.places, scope, cursor) ?? [])
  const [startedAt, runId, claim] = place
  const isPlace = typeof startedAt === 'string' && typeof runId === 'string' && typeof claim === 'number'
  if (cursor !== undefined && !isPlace) return problemResponse(notACursor, path)

  const only = equalTo === undefined ? {} : { equalTo }
  const page = {
    ...(status !== 'open' && { of: status }),
    limit,
    ...only,
    ...(isPlace && { after: { startedAt, runId, claim } }),
  }
  const found = await withSlot(context, () => deps.ledger.openCalls(caller, page))
  if (found instanceof Response) return found
  if (!found.ok) return problemResponse(found.refusal, path)
  const { items, next, asOf, unreadable } = found.value
  if (access !== undefined) access.count = items.length
  const after = next === undefined ? null : [next.startedAt, next.runId, next.claim]
  const nextCursor = after === null ? null : encodeCursor(deps.ledger.places, scope, after)
  const named = unreadable && { unreadable: unreadable.map((run) => ({ ...run })) }
  return json(200, { items, nextCursor, asOf: await deps.ledger.lastEventId(caller, asOf), ...named })
}

export const callRoutes: readonly GuardedRoute[] = [
  commandRoute({
    path: '/v1/runs/{run}/calls',
    summary:
      'Claim a call: 201 to run it, 200 with the recorded outcome, 409 while another runs it (Prefer: wait=20 waits)',
    tag,
    access: WRITE_RUNS,
    kind: 'claim',
    answer: ClaimAnswer,
    takesValue: true,
    body: ClaimCall,
    command: (body) => ({ kind: 'claim', body }),
    location: ({ body }, runPath) => `${runPath}/calls/${textMember(body, 'callId')}`,
    execute: claimOrWait,
  }),
  readRoute({
    path: '/v1/calls',
    summary:
      'Calls without an outcome, of all runs, newest run first: `in-doubt` are those with a recorded doubt, whether or not they may be made again, and `overdue` those that are claimed and whose lease is over; `equalTo` takes the id of an open call, and lists it and those with its tool and arguments',
    tag,
    answer: OpenCallsAnswer,
    access: READ_PAYLOADS,
    query: OpenCallsQuery,
    handle: listOpenCalls,
  }),
  pageRoute({
    access: READ_PAYLOADS,
    path: '/v1/runs/{run}/calls',
    summary: 'Calls with status, attempts and outcome, in order of claim',
    tag,
    answer: CallsAnswer,
    ofThePast: true,
    read: (ledger, ...request) => ledger.calls(...request),
  }),
  readRoute({
    path: '/v1/runs/{run}/calls/{call}',
    summary: 'One call',
    tag,
    answer: CallAnswer,
    access: READ_PAYLOADS,
    query: NoQuery,
    handle: async ({ deps, caller, run, item, path }) => foundResponse(await deps.ledger.call(caller, run, item), path),
  }),
  commandRoute({
    path: '/v1/runs/{run}/calls/{call}/settle',
    summary: 'Record the outcome of a call',
    tag,
    access: WRITE_RUNS,
    kind: 'settle',
    answer: SettledCallAnswer,
    takesValue: true,
    body: SettleCall,
    command: (body, callId) => ({ kind: 'settle', callId, body }),
  }),
  commandRoute({
    path: '/v1/runs/{run}/calls/{call}/renew',
    summary: 'Prolong the lease of a call',
    tag,
    access: WRITE_RUNS,
    kind: 'renew',
    answer: SettledCallAnswer,
    body: RenewCall,
    command: (body, callId) => ({ kind: 'renew', callId, body }),
  }),
  commandRoute({
    path: '/v1/runs/{run}/calls/{call}/resolve',
    summary: 'End the doubt about a call, on evidence',
    tag,
    access: WRITE_RUNS,
    kind: 'resolve',
    answer: SettledCallAnswer,
    takesValue: true,
    body: ResolveCall,
    command: (body, callId) => ({ kind: 'resolve', callId, body }),
  }),
  commandRoute({
    path: '/v1/runs/{run}/captures',
    summary:
      'What an entrance reports beside its calls: a gap in what it recorded, or the definitions of the tools behind it',
    tag,
    access: WRITE_RUNS,
    kind: 'capture',
    answer: CaptureAnswer,
    body: RecordCapture,
    command: (body) => ({ kind: 'capture', body }),
  }),
  readRoute({
    path: '/v1/runs/{run}/values/{digest}',
    summary:
      'A large value of a run, by the digest in `argsRef`, `resultRef`, `inputRef` or `outputRef`: its canonical JSON text',
    tag,
    answer: JsonValue,
    access: READ_PAYLOADS,
    query: NoQuery,
    handle: async (context) => {
      const { deps, caller, run, item, path } = context
      const found = await withSlot(context, () => deps.ledger.value(caller, run, item))
      if (found instanceof Response) return found
      return found.ok ? jsonText(200, found.value) : problemResponse(found.refusal, path)
    },
  }),
  commandRoute({
    path: '/v1/runs/{run}/compensations',
    summary: 'Start a rollback: the plan in reverse order, group by group',
    tag: 'compensations',
    access: WRITE_RUNS,
    kind: 'compensate',
    answer: CompensationAnswer,
    body: StartCompensation,
    command: (body) => ({ kind: 'compensate', body }),
    location: (_, runPath) => `${runPath}/compensations`,
  }),
  readRoute({
    path: '/v1/runs/{run}/compensations',
    summary: "The rollback's plan with the state of each action",
    tag: 'compensations',
    answer: CompensationsAnswer,
    access: READ_PAYLOADS,
    query: NoQuery,
    handle: async (context) => {
      const { deps, caller, run, path } = context
      const found = await withSlot(context, () => deps.ledger.compensations(caller, run))
      return found instanceof Response ? found : foundResponse(found, path)
    },
  }),
]
