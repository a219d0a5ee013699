/** @module The tenant's Merkle log: checkpoint, tiles and proofs in the C2SP formats, so that public tools can check them. */

import { z } from 'zod'
import {
  ConsistencyAnswer,
  InclusionAnswer,
  SuccessionsAnswer,
  TimestampAnswer,
} from '../../../schemas/answers/history.ts'
import { UUID_PATTERN } from '../../../schemas/header.ts'
import { READ_TENANT_RECORDED_BEHIND } from '../../access/access.ts'
import type { LeafQuery, LogAnswer, LogRefusalCode, TenantLogs } from '../../ledger/log/tenant-logs.ts'
import { toBase64 } from '../../merkle/base64.ts'
import { parseTilePath } from '../../merkle/tile-path.ts'
import { json, problemResponse } from '../answers.ts'
import { NoQuery, Whole } from '../parameters.ts'
import { type Problem, problem } from '../problems.ts'
import { type GuardedRoute, type RequestContext, readRoute } from '../route.ts'

const tag = 'log'
/** Hashes and headers of the log are shared among auditors: reading them is not recorded. */
const access = READ_TENANT_RECORDED_BEHIND

const EventId = z.string().regex(UUID_PATTERN, 'takes the id of an event')
const InclusionQuery = z.strictObject({ event: EventId.optional(), index: Whole.optional(), size: Whole.optional() })
const ConsistencyQuery = z.strictObject({ from: Whole, to: Whole.optional() })

const TEXT = 'text/plain; charset=utf-8'
const BYTES = 'application/octet-stream'
/** A tile never changes, but it belongs to one tenant. */
const IMMUTABLE = 'private, max-age=31536000, immutable'
/** C2SP tlog-tiles: a checkpoint is cached for a few seconds at most. */
const SHORT = 'private, max-age=2'

export const logRoutes: readonly GuardedRoute[] = [
  readRoute({
    path: '/v1/log/checkpoint',
    summary: "The last checkpoint of the tenant's log: a signed note (C2SP tlog-checkpoint)",
    tag,
    access,
    query: NoQuery,
    produces: TEXT,
    handle: (context) => withLogs(context, (logs) => textOf(context, logs, logs.checkpoint(context.caller.tenant))),
  }),
  readRoute({
    path: '/v1/log/timestamp',
    summary:
      'The last time-stamped checkpoint: its signed text, the answer of the authority (TimeStampResp of RFC 3161), and a proof that the last checkpoint continues it',
    tag,
    answer: TimestampAnswer,
    access,
    query: NoQuery,
    handle: (context) => withLogs(context, (logs) => timestamp(context, logs)),
  }),
  readRoute({
    path: '/v1/log/key',
    summary: "Verifier key of the tenant's log (C2SP signed-note)",
    tag,
    access,
    query: NoQuery,
    produces: TEXT,
    handle: (context) =>
      withLogs(context, (logs) => plain(`${logs.verifierKey(context.caller.tenant)}\n`, TEXT, SHORT)),
  }),
  readRoute({
    path: '/v1/log/successions',
    summary: 'Signed notes in which earlier keys of the logs name those that followed them, oldest first',
    tag,
    answer: SuccessionsAnswer,
    access,
    query: NoQuery,
    handle: (context) => withLogs(context, (logs) => json(200, logs.successions())),
  }),
  readRoute({
    path: '/v1/log/tile/{tile}',
    deep: true,
    summary:
      'A tile `<L>/<N>[.p/<W>]`, or a bundle of entries `entries/<N>[.p/<W>]` (C2SP tlog-tiles); an entry is the header of an event',
    tag,
    access,
    query: NoQuery,
    produces: BYTES,
    handle: (context) => withLogs(context, (logs) => tile(context, logs)),
  }),
  readRoute({
    path: '/v1/log/proof/inclusion',
    summary: 'That an event, by id or index, is in the tree of a size; by default that of the last checkpoint',
    tag,
    answer: InclusionAnswer,
    access,
    query: InclusionQuery,
    handle: (context) => withLogs(context, (logs) => inclusion(context, logs)),
  }),
  readRoute({
    path: '/v1/log/proof/consistency',
    summary: 'That the tree of one size begins with that of a smaller one; by default up to the last checkpoint',
    tag,
    answer: ConsistencyAnswer,
    access,
    query: ConsistencyQuery,
    handle: (context) => withLogs(context, (logs) => consistency(context, logs)),
  }),
  readRoute({
    path: '/v1/log/events/{event}/proof.tlog-proof',
    summary: "An event's proof against the last checkpoint, as a file that is checked offline (C2SP tlog-proof)",
    tag,
    access,
    query: NoQuery,
    produces: TEXT,
    handle: (context) => withLogs(context, async (logs) => textOf(context, logs, await proofFile(context, logs))),
  }),
]

function withLogs<Q>(
  context: RequestContext<Q>,
  answer: (logs: TenantLogs) => Response | Promise<Response>,
): Response | Promise<Response> {
  const { logs } = context.deps.ledger
  return logs === undefined
    ? problemResponse(problem('not-found', 'this ledger keeps no log'), context.path)
    : answer(logs)
}

function plain(body: string | Uint8Array, type: string, caching: string): Response {
  const headers = {
    'content-type': type,
    'cache-control': caching,
    'x-content-type-options': 'nosniff',
    vary: 'authorization',
  }
  return new Response(body as BodyInit, { headers })
}

function textOf({ path }: RequestContext, logs: TenantLogs, answer: LogAnswer<string>): Response {
  return answer.ok ? plain(answer.value, TEXT, SHORT) : problemResponse(problemOfLog(answer, logs), path)
}

async function tile({ caller, item, path }: RequestContext, logs: TenantLogs): Promise<Response> {
  const named = parseTilePath(`tile/${item}`)
  const bytes =
    named === undefined
      ? undefined
      : named.level === 'entries'
        ? await logs.entries(caller.tenant, named)
        : logs.tile(caller.tenant, named)
  if (bytes !== undefined) return plain(bytes, BYTES, IMMUTABLE)
  return problemResponse(problem('not-found', 'the published log has no such tile'), path)
}

async function inclusion(
  { caller, query, path }: RequestContext<z.output<typeof InclusionQuery>>,
  logs: TenantLogs,
): Promise<Response> {
  const { event, index, size } = query
  const leaf: LeafQuery | undefined =
    event !== undefined ? { eventId: event } : index !== undefined ? { index } : undefined
  if (leaf === undefined || (event !== undefined && index !== undefined)) {
    return problemResponse(problem('invalid-query', 'name the event by its id or by its index'), path)
  }
  const found = await upToDate(logs, () => logs.checkedInclusion(caller.tenant, leaf, size))
  if (!found.ok) return problemResponse(problemOfLog(found, logs), path)
  const { leaf: hash, root, proof, ...place } = found.value
  return json(200, { ...place, leafHash: toBase64(hash), rootHash: toBase64(root), proof: proof.map(toBase64) })
}

/** If the event is not found, the log first catches up with the store, so that a recent event is not reported as missing. */
async function upToDate<T>(logs: TenantLogs, find: () => Promise<LogAnswer<T>>): Promise<LogAnswer<T>> {
  const found = await find()
  if (found.ok || (found.code !== 'not-in-log' && found.code !== 'no-checkpoint')) return found
  await logs.catchUp()
  return find()
}

function consistency(
  { caller, query, path }: RequestContext<z.output<typeof ConsistencyQuery>>,
  logs: TenantLogs,
): Response {
  const found = logs.consistency(caller.tenant, query.from, query.to)
  if (!found.ok) return problemResponse(problemOfLog(found, logs), path)
  const { from, fromRoot, to, toRoot, proof } = found.value
  const roots = { fromRootHash: toBase64(fromRoot), toRootHash: toBase64(toRoot) }
  return json(200, { from, to, ...roots, proof: proof.map(toBase64) })
}

async function timestamp({ caller, path }: RequestContext, logs: TenantLogs): Promise<Response> {
  const found = await logs.timestamp(caller.tenant)
  if (!found.ok) return problemResponse(problemOfLog(found, logs), path)
  const { text, reply, consistency, ...said } = found.value
  return json(200, { ...said, checkpoint: text, reply: toBase64(reply), consistency: consistency.map(toBase64) })
}

async function proofFile({ caller, item }: RequestContext, logs: TenantLogs): Promise<LogAnswer<string>> {
  if (UUID_PATTERN.test(item)) return upToDate(logs, async () => logs.proofFile(caller.tenant, item))
  return { ok: false, code: 'not-in-log', size: logs.state(caller.tenant).published }
}

const DETAILS: Readonly<Record<LogRefusalCode, string>> = {
  'no-checkpoint': 'no checkpoint was signed yet',
  'log-stopped':
    'no checkpoint was signed, and none will be: the log stopped at an event that does not verify, or is gone; run "countersign verify", and put the event back from a copy',
  'being-made': 'the file of the logs is being rebuilt from the store: ask again',
  'not-in-log': "there is no such event in this tenant's log",
  'not-published':
    'the event is in the log and no checkpoint covers it yet: one is signed within seconds, or, where log.db is being rebuilt, once that is done',
  'beyond-checkpoint': 'the last checkpoint does not reach that far',
  'leaf-damaged':
    'log.db and the store do not agree about this leaf: run "countersign verify"; where the store is VERIFIED, stop the ledger and run "countersign rebuild"',
  'no-timestamp':
    'no checkpoint was time-stamped: serve --timestamp-url names who does it, and it comes behind the checkpoint',
  'from-nothing':
    'there is no consistency proof from size 0: RFC 6962 defines none, since every tree continues the empty one; ask from 1 or more',
  'not-a-range': 'these numbers fall: an index lies below its size, and a tree begins with a smaller one',
}
/** The question is invalid for any log. */
const UNANSWERABLE: ReadonlySet<LogRefusalCode> = new Set<LogRefusalCode>(['from-nothing', 'not-a-range'])
const BEING_MADE_MS = 2_000
/** Waiting helps with these codes. */
const LATER: ReadonlySet<LogRefusalCode> = new Set<LogRefusalCode>(['no-checkpoint', 'not-published', 'no-timestamp'])

function problemOfLog(
  { code, size }: { readonly code: LogRefusalCode; readonly size: number },
  logs: TenantLogs,
): Problem {
  const evidence = { reason: code, treeSize: size }
  if (code === 'leaf-damaged') return problem('stream-damaged', DETAILS[code], { evidence })
  if (code === 'being-made') return problem('index-building', DETAILS[code], { evidence, retryAfterMs: BEING_MADE_MS })
  if (UNANSWERABLE.has(code)) return problem('invalid-query', DETAILS[code], { evidence })
  return problem('not-found', DETAILS[code], {
    evidence,
    ...(LATER.has(code) && { retryAfterMs: Math.max(logs.maxDelayMs, 1) }),
  })
}
