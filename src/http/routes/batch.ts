/** @module Several commands in one request: each gets the status and body that it would have had in a request of its own. */

import { z } from 'zod'
import { BatchAnswers } from '../../../schemas/answers/system.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { RUN_ID_PATTERN } from '../../../schemas/value-forms.ts'
import { JsonRecord } from '../../../schemas/values.ts'
import { type TokenAccess, WRITE_NAMED_RUNS } from '../../access/access.ts'
import { accessRefusal } from '../../access/check-access.ts'
import { refusal } from '../../domain/refusal.ts'
import type { BatchItem, Outcome } from '../../ledger/ledger.ts'
import { errorsText } from '../../signing/schema-errors.ts'
import type { Principal } from '../../signing/tokens.ts'
import { json, problemResponse } from '../answers.ts'
import { batchDigest } from '../batch-digest.ts'
import { checkBody, readJson } from '../body.ts'
import { moreRefusal, outcomeStatus, requestInfo, runPathOf } from '../command-route.ts'
import { NoQuery, validTraceparent } from '../parameters.ts'
import { type Problem, problem, problemBody, problemOf, statusOf } from '../problems.ts'
import type { CommandSpec, GuardedRoute, RequestContext } from '../route.ts'

const BATCH_MAX_ITEMS = 256
/** Levels of nesting that `{items: [{body: ...}]}` adds to a body, which on its own may be 64 deep. */
const AROUND_BODY_DEPTH = 3
const BODY_MAX_DEPTH = 64
/** A batch may have more members than a single body, in proportion to the cost of reading them. */
const BATCH_MAX_KEYS = 400_000
/** Cost of a command in a batch relative to a single request (27,000 batched against 11,000 single events a second). */
const ITEM_COST = 0.4

/** The commands that have their own routes, keyed by `op`. */
export interface BatchOp {
  readonly path: string
  readonly access: TokenAccess
  readonly spec: CommandSpec
}

const Name = z.string().min(1).max(256)
const BatchBody = z.strictObject({
  items: z
    .array(
      z.strictObject({
        run: Name.optional(),
        op: Name,
        call: Name.optional(),
        reservation: Name.optional(),
        fork: Name.optional(),
        approval: Name.optional(),
        signal: Name.optional(),
        traceparent: Name.optional(),
        body: JsonRecord,
      }),
    )
    .min(1)
    .max(BATCH_MAX_ITEMS),
})
/** The kinds of object that a command may refer to in addition to its run. */
type OnWhat = 'call' | 'reservation' | 'fork' | 'approval' | 'signal'
type Item = z.output<typeof BatchBody>['items'][number]

export function batchRoute(ops: ReadonlyMap<string, BatchOp>): GuardedRoute {
  return {
    method: 'post',
    path: '/v1/batch',
    summary: `Up to ${BATCH_MAX_ITEMS} commands: {items: [{run, op, call?, reservation?, fork?, approval?, signal?, traceparent?, body}]} -> {items: [{status, body}]}`,
    tag: 'runs',
    answer: BatchAnswers,
    access: WRITE_NAMED_RUNS,
    query: NoQuery,
    body: BatchBody,
    takesBatch: true,
    handle: (context) => runBatch(context, ops),
  }
}

/** An item after the checks: refused here, or passed to the ledger. */
type Judged =
  | { readonly path: string; readonly problem: Problem }
  | { readonly path: string; readonly op: BatchOp; readonly item: BatchItem }

async function runBatch(context: RequestContext, ops: ReadonlyMap<string, BatchOp>): Promise<Response> {
  const { c, deps, caller, path } = context
  const { batchMaxBytes: maxBytes } = deps.settings
  const read = await readJson(context, {
    maxBytes,
    maxDepth: BODY_MAX_DEPTH + AROUND_BODY_DEPTH,
    maxKeys: BATCH_MAX_KEYS,
  })
  if (!read.ok) return problemResponse(read.problem, path)
  const batch = checkBody(BatchBody, read.value)
  if (!batch.ok) return problemResponse(batch.problem, path)
  if (c.req.header('if-match') !== undefined) return problemResponse(noIfMatch, path)
  // Each item is tied to the whole request: by digest, because the text would be serialized once per item.
  const { items } = batch.value
  const keyed = c.req.header('idempotency-key') !== undefined
  const by = { turns: deps.work.writes, tenant: caller.tenant }
  const info = await requestInfo(context, keyed ? await batchDigest(items as readonly JsonObject[], by) : '')
  if (!info.ok) return problemResponse(info.problem, path)

  deps.rates.charge(caller.tenant, (items.length - 1) * ITEM_COST)
  const judged = judgeItems(items, ops, caller)
  const ready = judged.filter((each) => 'item' in each)
  const outcomes = await deps.ledger.executeBatch(
    caller,
    ready.map((each) => each.item),
    info.value,
  )
  let next = 0
  const answers = judged.map((each) =>
    'item' in each ? outcomeAnswer(each, outcomes[next++], caller) : problemAnswer(each.problem, each.path),
  )
  const replayed = outcomes.length > 0 && outcomes.every((outcome) => outcome.replayed)
  return json(200, { items: answers }, replayed ? { 'idempotency-replayed': 'true' } : {})
}

const noIfMatch = problem('invalid-header', 'a batch has no one revision to match', {
  evidence: { header: 'if-match' },
})

/** Items refused here are not passed to the ledger; a refused envelope also leaves later envelopes of its run unattempted. */
function judgeItems(items: readonly Item[], ops: ReadonlyMap<string, BatchOp>, caller: Principal): Judged[] {
  const stopped = new Set<string>()
  return items.map((item) => {
    const judged = judgeItem(item, ops, caller)
    if (item.op !== 'envelope' || item.run === undefined) return judged
    if (stopped.has(item.run)) return { path: judged.path, problem: notAttempted }
    if ('problem' in judged) stopped.add(item.run)
    return judged
  })
}

const notAttempted = refusal('not-attempted', 'an earlier envelope of this run was refused')

function judgeItem(item: Item, ops: ReadonlyMap<string, BatchOp>, caller: Principal): Judged {
  const op = ops.get(item.op)
  if (op === undefined) return { path: '/v1/batch', problem: badItem('/op', `one of ${[...ops.keys()].join(', ')}`) }
  const judged = op.spec.kind === 'start' ? judgeStart(item, op, caller) : judgeOnRun(item, op, caller)
  const traceparent = validTraceparent(item.traceparent)
  return 'problem' in judged || traceparent === undefined
    ? judged
    : { ...judged, item: { ...judged.item, traceparent } }
}

/** The run is named by the item or by the body, so that later items can refer to it. */
function judgeStart(item: Item, op: BatchOp, caller: Principal): Judged {
  const { path } = op
  const { id = item.run } = item.body
  if (id === undefined) return { path, problem: badItem('/run', 'name the run, here or as the id in the body') }
  if (item.run !== undefined && id !== item.run)
    return { path, problem: badItem('/body/id', 'the item names another run') }
  return judgeBody({ ...item.body, id }, { op, path, runId: String(id), on: '' }, caller)
}

function judgeOnRun(item: Item, op: BatchOp, caller: Principal): Judged {
  const { run = '', body } = item
  const request = /\{(call|reservation|fork|approval|signal)\}/.exec(op.path)?.[1] as OnWhat | undefined
  const on = request === undefined ? '' : item[request]
  const path = op.path.replace('{run}', () => run).replace(`{${request}}`, () => on ?? '')
  if (item.run === undefined) return { path, problem: badItem('/run', 'this member is required') }
  if (on === undefined) return { path, problem: badItem(`/${request}`, 'this member is required') }
  const outside = accessRefusal(op.access, caller, run)
  if (outside !== undefined) return { path, problem: outside }
  if (!RUN_ID_PATTERN.test(run)) return { path, problem: noSuchRun }
  return judgeBody(body, { op, path, runId: run, on }, caller)
}

const noSuchRun = refusal('run-not-found', 'there is no such run')

interface Target {
  readonly op: BatchOp
  readonly path: string
  readonly runId: string
  /** Id of the call, reservation, fork, approval or signal. */
  readonly on: string
}

function judgeBody(input: JsonObject, { op, path, runId, on }: Target, caller: Principal): Judged {
  const body = checkBody(op.spec.body, input)
  if (!body.ok) return { path, problem: body.problem }
  const command = op.spec.command(body.value, on)
  const lacking = moreRefusal(op.spec, command, caller)
  return lacking === undefined ? { path, op, item: { runId, command } } : { path, problem: lacking }
}

function badItem(pointer: string, message: string): Problem {
  const errors = [{ pointer, message }]
  return problem('invalid-body', errorsText(errors), { evidence: { errors } })
}

function outcomeAnswer(
  { op, path }: Extract<Judged, { item: BatchItem }>,
  outcome: Outcome | undefined,
  caller: Principal,
): JsonObject {
  if (outcome === undefined) throw new TypeError('the ledger answered fewer items than it was sent')
  if (outcome.ok) return { status: outcomeStatus(outcome, op.spec), body: outcome.body }
  const { refusal: refused, revision } = outcome
  const answer = problemAnswer(problemOf(refused, { caller, runPath: runPathOf(path) }), path)
  return { ...answer, ...(revision !== undefined && revision >= 0 && { revision }) }
}

function problemAnswer(refused: Problem, instance: string): JsonObject {
  return { status: statusOf(refused), body: problemBody(refused, instance) }
}
