/** @module Runs: start, list, read, end; and the context they have established. */

import { z } from 'zod'
import { RewoundAnswer } from '../../../schemas/answers/handoffs.ts'
import {
  CarriedAnswer,
  ContextAnswer,
  EndAnswer,
  LeftAnswer,
  RunAnswer,
  RunsAnswer,
  StartAnswer,
} from '../../../schemas/answers/runs.ts'
import { Instant } from '../../../schemas/audit-fields.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { CarryRun, CompleteRun, FailRun, LeaveRun, Rollback, StartRun } from '../../../schemas/requests.ts'
import { ROLLBACK_VERDICTS, RUN_STATUSES } from '../../../schemas/run-status.ts'
import {
  READ_OWN_PAYLOADS,
  READ_PAYLOADS,
  READ_RUNS,
  type TokenAccess,
  WRITE_NAMED_RUNS,
  WRITE_RUNS,
} from '../../access/access.ts'
import type { Command, RunListFilter } from '../../ledger/ledger.ts'
import { foundResponse, json, problemResponse } from '../answers.ts'
import { commandRoute, textMember } from '../command-route.ts'
import { decodeCursor, encodeCursor, notACursor } from '../cursor.ts'
import { listDueRuns } from '../due-runs.ts'
import { AnyTexts, CursorText, Limit, PAGE_DEFAULT, PerTenant, Positive, Text, TextList, Whole } from '../parameters.ts'
import { problem } from '../problems.ts'
import { noIndex, readAt } from '../read-at.ts'
import { type GuardedRoute, type RequestContext, readRoute } from '../route.ts'
import { withSlot } from '../with-slot.ts'

const tag = 'runs'

const ListQuery = z.strictObject({
  status: z.enum(RUN_STATUSES).optional(),
  name: Text.optional(),
  tag: Text.optional(),
  agent: Text.optional(),
  contains: Text.optional(),
  compensation: z.enum(ROLLBACK_VERDICTS).optional(),
  inDoubt: z.literal('true', 'takes true').optional(),
  overdue: z.literal('true', 'takes true').optional(),
  waiting: z.literal('true', 'takes true').optional(),
  stuck: z.literal('true', 'takes true').optional(),
  due: z.literal('true', 'takes true').optional(),
  names: TextList.optional(),
  versions: AnyTexts.optional(),
  perTenant: PerTenant.optional(),
  since: Instant.optional(),
  until: Instant.optional(),
  /** Size of the log, in events. */
  asOf: Positive.optional(),
  cursor: CursorText.optional(),
  limit: Limit.optional(),
})

/** Who starts a run again knows its input. A worker need not, and is answered with what the run recorded, or with the key to it. */
function ofWorker(command: Command): TokenAccess | undefined {
  return command.kind === 'start' && command.body.worker !== undefined ? READ_OWN_PAYLOADS : undefined
}

const RunQuery = z.strictObject({ asOf: Positive.optional(), revision: Whole.optional() })

const ContextQuery = z.strictObject({ asOf: Positive.optional(), step: Whole.optional(), revision: Whole.optional() })

export const runRoutes: readonly GuardedRoute[] = [
  commandRoute({
    path: '/v1/runs',
    summary: 'Start a run, or resume one of the same id, name and input',
    tag,
    access: WRITE_NAMED_RUNS,
    kind: 'start',
    takesValue: true,
    body: StartRun,
    command: (body) => ({ kind: 'start', body }),
    moreFor: ofWorker,
    answer: StartAnswer,
    location: (_, runPath) => runPath,
  }),
  readRoute({
    path: '/v1/runs',
    summary: 'List runs, newest first; or those that a worker may carry on, by when they became due',
    tag,
    answer: RunsAnswer,
    access: READ_RUNS,
    query: ListQuery,
    handle: listRuns,
  }),
  readRoute({
    path: '/v1/runs/{run}',
    summary: 'State of a run: totals, open calls, last snapshot; now, or as it was',
    tag,
    access: READ_RUNS,
    query: RunQuery,
    answer: RunAnswer,
    answers: { 304: 'The caller has this revision.' },
    handle: (context) => readRun(context),
  }),
  readRoute({
    path: '/v1/runs/{run}/context',
    summary: 'The established context, now or as it was at a step or revision',
    tag,
    access: READ_PAYLOADS,
    query: ContextQuery,
    answer: ContextAnswer,
    handle: (context) => readContext(context),
  }),
  commandRoute({
    path: '/v1/runs/{run}/rollback',
    summary: 'Rewind the context by hand',
    tag,
    access: WRITE_RUNS,
    kind: 'rollback',
    answer: RewoundAnswer,
    body: Rollback,
    command: (body) => ({ kind: 'rollback', body }),
  }),
  commandRoute({
    path: '/v1/runs/{run}/leave',
    summary: 'Leave a run open: a worker carries it on when a wait of it ends, or after a while',
    tag,
    access: WRITE_RUNS,
    kind: 'leave',
    answer: LeftAnswer,
    body: LeaveRun,
    command: (body) => ({ kind: 'leave', body }),
  }),
  commandRoute({
    path: '/v1/runs/{run}/carry',
    summary: 'Say that the code of a worker still carries the run, so that no other worker takes it',
    tag,
    access: WRITE_RUNS,
    kind: 'carry',
    answer: CarriedAnswer,
    body: CarryRun,
    command: (body) => ({ kind: 'carry', body }),
  }),
  commandRoute({
    path: '/v1/runs/{run}/complete',
    summary: 'End a run with its output',
    tag,
    access: WRITE_RUNS,
    kind: 'complete',
    answer: EndAnswer,
    takesValue: true,
    body: CompleteRun,
    command: (body) => ({ kind: 'complete', body }),
  }),
  commandRoute({
    path: '/v1/runs/{run}/fail',
    summary: 'End a run with its error',
    tag,
    access: WRITE_RUNS,
    kind: 'fail',
    answer: EndAnswer,
    body: FailRun,
    command: (body) => ({ kind: 'fail', body }),
  }),
]

const stepOrRevision = problem('invalid-query', 'ask for a step or for a revision, not for both', {
  evidence: { errors: [{ pointer: '/revision', message: 'not beside step' }] },
})

const sizeOrRevision = problem('invalid-query', 'ask as of a size of the log or of a revision, not of both', {
  evidence: { errors: [{ pointer: '/revision', message: 'not beside asOf' }] },
})

/** A past state is folded from the run's events, which takes a slot; so does a past context. */
async function readRun(context: RequestContext<z.output<typeof RunQuery>>): Promise<Response> {
  const { deps, caller, run, path, query, c } = context
  const { asOf, revision } = query
  if (asOf !== undefined && revision !== undefined) return problemResponse(sizeOrRevision, path)
  const ifNoneMatch = c.req.header('if-none-match')
  if (asOf === undefined && revision === undefined)
    return foundResponse(await deps.ledger.run(caller, run), path, ifNoneMatch)
  return withSlot(context, () =>
    readAt(context, asOf, async ({ at = { revision: revision ?? 0 } }, moment) => {
      const found = await deps.ledger.run(caller, run, at)
      if (!found.ok || moment === undefined) return foundResponse(found, path, ifNoneMatch)
      return foundResponse({ ...found, value: { ...found.value, asOf: moment.asOf.eventId } }, path, ifNoneMatch)
    }),
  )
}

/** A step that was accepted after the given size of the log does not exist at that moment. */
async function readContext(context: RequestContext<z.output<typeof ContextQuery>>): Promise<Response> {
  const { deps, caller, run, path, query } = context
  const { step, revision, asOf } = query
  if (step !== undefined && revision !== undefined) return problemResponse(stepOrRevision, path)
  if (asOf !== undefined && revision !== undefined) return problemResponse(sizeOrRevision, path)
  const isPast = (step ?? revision ?? asOf) !== undefined
  const read = () =>
    readAt(context, asOf, async ({ at }) => {
      const then = revision ?? at?.revision
      const place = step !== undefined ? { step } : then !== undefined ? { revision: then } : {}
      const found = await deps.ledger.context(caller, run, place)
      const isLater = found.ok && at !== undefined && found.value.revision > at.revision
      return isLater ? problemResponse(laterStep(step ?? 0), path) : foundResponse(found, path)
    })
  return isPast ? withSlot(context, read) : read()
}

const laterStep = (step: number) => problem('unknown-step', `the run had no step ${step} then`)

type ListContext = RequestContext<z.output<typeof ListQuery>>

async function listRuns(context: ListContext): Promise<Response> {
  const { deps, caller, path, query, access } = context
  const { due, names, versions, perTenant, ...listed } = query
  if ((due ?? names ?? versions ?? perTenant) !== undefined) return listDueRuns(context)
  const { cursor, limit = PAGE_DEFAULT, asOf: size, ...filters } = listed
  if (size !== undefined) return listRunsAsOf(context, size)
  const scope = ['runs', caller.tenant, filters]
  const place = cursor === undefined ? undefined : decodeCursor(deps.ledger.places, scope, cursor)
  const [startedAt, runId] = place ?? []
  const after = typeof startedAt === 'string' && typeof runId === 'string' ? { startedAt, runId } : undefined
  if (cursor !== undefined && after === undefined) return problemResponse(notACursor, path)

  const page = { ...filterOf(filters), ...(after && { after }), limit }
  const found = await withSlot(context, () => deps.ledger.listRuns(caller, page))
  if (found instanceof Response) return found
  const { items, asOf } = found
  if (access !== undefined) access.count = items.length
  const last = items.length < limit ? undefined : items.at(-1)
  const nextCursor = last === undefined ? null : encodeCursor(deps.ledger.places, scope, rowPlace(last))
  return json(200, { items, nextCursor, asOf: await deps.ledger.lastEventId(caller, asOf) })
}

/** Lists runs as of a size of the log: a page may hold fewer runs than its limit even though another page follows. */
async function listRunsAsOf(context: ListContext, treeSize: number): Promise<Response> {
  const { deps, caller, path, query, access } = context
  const {
    cursor,
    limit = PAGE_DEFAULT,
    asOf: _,
    due: __,
    names: ___,
    versions: ____,
    perTenant: _____,
    ...filters
  } = query
  const { audit, places } = deps.ledger
  if (audit === undefined) return problemResponse(noIndex, path)
  const scope = ['runs', caller.tenant, { asOf: treeSize, ...filters }]
  const [after, eventId] = (cursor === undefined ? undefined : decodeCursor(places, scope, cursor)) ?? []
  if (cursor !== undefined && typeof after !== 'number') return problemResponse(notACursor, path)

  const pinned = typeof after === 'number' && typeof eventId === 'string' ? { after, eventId } : {}
  const page = { treeSize, limit, ...pinned }
  const found = await withSlot(context, () => audit.runs(caller, filterOf(filters), page))
  if (found instanceof Response) return found
  if (!found.ok) return problemResponse(problem(found.code, found.detail), path)
  const { items, next, asOf } = found
  if (access !== undefined) access.count = items.length
  const nextCursor = next === undefined ? null : encodeCursor(places, scope, [next, asOf.eventId])
  return json(200, { items, nextCursor, asOf: asOf.eventId })
}

type ListFilters = Omit<
  z.output<typeof ListQuery>,
  'cursor' | 'limit' | 'asOf' | 'due' | 'names' | 'versions' | 'perTenant'
>

function filterOf({ inDoubt, overdue, waiting, stuck, ...texts }: ListFilters): Omit<RunListFilter, 'limit'> {
  return {
    ...Object.fromEntries(Object.entries(texts).filter(([, value]) => value !== undefined)),
    ...(inDoubt === 'true' && { inDoubt: true as const }),
    ...(waiting === 'true' && { waiting: true as const }),
    ...(stuck === 'true' && { stuck: true as const }),
    ...(overdue === 'true' && { overdue: true as const }),
  }
}

const rowPlace = (row: JsonObject): string[] => [textMember(row, 'startedAt'), textMember(row, 'runId')]
