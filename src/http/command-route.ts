/** @module The single path of every command that changes a run: bounded body, strict parse, schema, preconditions, ledger, answer. */
import type { z } from 'zod'
import type { Json, JsonObject } from '../../schemas/json.ts'
import type { TokenAccess } from '../access/access.ts'
import { accessRefusal } from '../access/check-access.ts'
import type { Refusal } from '../domain/refusal.ts'
import type { Command, Ledger, Outcome, RequestInfo } from '../ledger/ledger.ts'
import type { Principal } from '../signing/tokens.ts'
import { etag, json, problemResponse } from './answers.ts'
import { type BodyLimits, checkBody, readJson } from './body.ts'
import { NoQuery, type Parsed, parseIdempotencyKey, parseIfMatch, validTraceparent } from './parameters.ts'
import { type Problem, problem, problemOf } from './problems.ts'
import type { CommandSpec, GuardedRoute, RequestContext } from './route.ts'

type Success = Extract<Outcome, { ok: true }>

/** A large value may have more members than a normal body, in proportion to its size limit. */
const VALUE_MAX_KEYS = 1_600_000

export interface CommandRoute<Body extends object> {
  readonly path: string
  readonly summary: string
  readonly tag: string
  readonly kind: Command['kind']
  readonly body: z.ZodType<Body>
  readonly command: (body: Body, item: string) => Command
  readonly answer: z.ZodType
  readonly location?: CommandSpec['location']
  readonly isAccepted?: CommandSpec['isAccepted']
  readonly moreFor?: CommandSpec['moreFor']
  readonly access: TokenAccess
  /** Whether the body carries arguments or a result, which may be large. */
  readonly takesValue?: boolean
  /** Replaces `ledger.execute`, for a command whose answer may have to wait. */
  readonly execute?: (context: RequestContext, ready: ReadyCommand) => Promise<Outcome>
}

/** A command that has passed every check of the HTTP edge. */
export interface ReadyCommand {
  readonly command: Command
  readonly info: RequestInfo
}

/** A route that passes one command to the ledger. */
export function commandRoute<Body extends object>(route: CommandRoute<Body>): GuardedRoute {
  const { path, summary, tag, access, body, location, isAccepted, moreFor, takesValue, execute = executeNow } = route
  // `checkBody` passes on the value that `body` has parsed, and nothing else.
  const spec = {
    kind: route.kind,
    body,
    command: route.command,
    ...(location && { location }),
    ...(isAccepted && { isAccepted }),
    ...(moreFor && { moreFor }),
    ...(takesValue && { takesValue }),
  } as unknown as CommandSpec
  return {
    method: 'post',
    path,
    summary,
    tag,
    body,
    access,
    query: NoQuery,
    answer: route.answer,
    ...(location && { answers: { 201: 'Recorded again.' } }),
    ...(isAccepted && { answers: { 202: 'Recorded, and held for later.' } }),
    ...(takesValue && { takesValue }),
    spec,
    handle: async (context) => {
      const read = await readJson(context, limitsOf(context, spec))
      const checked = read.ok ? checkCommand(context, spec, read.value) : read
      const ready = checked instanceof Promise ? await checked : checked
      if (!ready.ok) return problemResponse(ready.problem, context.path)
      const lacking = moreRefusal(spec, ready.value.command, context.caller)
      if (lacking !== undefined) return problemResponse(lacking, context.path)
      return commandResponse(await execute(context, ready.value), spec, context)
    },
  }
}

/** The refusal if the token lacks what this command needs beyond the access of its route; the same for a single command and in a batch. */
export function moreRefusal({ moreFor }: CommandSpec, command: Command, caller: Principal): Refusal | undefined {
  const access = moreFor?.(command)
  return access === undefined ? undefined : accessRefusal(access, caller, undefined)
}

const executeNow = ({ deps, caller, run }: RequestContext, { command, info }: ReadyCommand): Promise<Outcome> =>
  deps.ledger.execute(caller, run, command, info)

function limitsOf(context: RequestContext, spec: CommandSpec): BodyLimits {
  const { bodyMaxBytes, valueBodyMaxBytes } = context.deps.settings
  const refusal = (): Promise<Problem | undefined> => unknownRun(context)
  return spec.takesValue === true
    ? { maxBytes: valueBodyMaxBytes, maxKeys: VALUE_MAX_KEYS, refusal }
    : { maxBytes: bodyMaxBytes, refusal }
}

async function unknownRun({ deps, caller, run }: RequestContext): Promise<Problem | undefined> {
  const found = await readRun(deps.ledger, caller, run)
  return found?.ok === false && found.refusal.code === 'run-not-found' ? found.refusal : undefined
}

function checkCommand(
  context: RequestContext,
  spec: CommandSpec,
  value: Json,
): Parsed<ReadyCommand> | Promise<Parsed<ReadyCommand>> {
  const body = checkBody(spec.body, value)
  if (!body.ok) return body
  const ready = (info: Parsed<RequestInfo>): Parsed<ReadyCommand> =>
    info.ok ? { ok: true, value: { command: spec.command(body.value, context.item), info: info.value } } : info
  const info = requestInfo(context, value)
  return info instanceof Promise ? info.then(ready) : ready(info)
}

/** The parts of a command that come from the headers. */
export function requestInfo(context: RequestContext, body: Json): Parsed<RequestInfo> | Promise<Parsed<RequestInfo>> {
  const { c, path } = context
  const key = parseIdempotencyKey(c.req.header('idempotency-key'))
  if (!key.ok) return key
  const ifMatch = parseIfMatch(c.req.header('if-match'))
  if (!ifMatch.ok) return ifMatch
  if (ifMatch.value === 'never') return neverMatches(context)

  const traceparent = validTraceparent(c.req.header('traceparent'))
  const value: RequestInfo = {
    bodyBytes: context.body?.bytes,
    ...(traceparent !== undefined && { traceparent }),
    ...(ifMatch.value !== undefined && { ifMatch: ifMatch.value }),
    ...(key.value !== undefined && { idempotency: { key: key.value, method: 'POST', path, body } }),
  }
  return { ok: true, value }
}

/** `If-Match` names no possible revision: the answer is 412, but only for a caller that may know that the run exists. */
async function neverMatches({ deps, caller, run, c }: RequestContext): Promise<Parsed<never>> {
  const found = await readRun(deps.ledger, caller, run)
  if (found !== undefined && !found.ok) return { ok: false, problem: found.refusal }
  const refused = problem('revision-conflict', 'the entity tag is none of this run', {
    evidence: { expected: c.req.header('if-match') ?? '', actual: found === undefined ? null : found.revision },
  })
  return { ok: false, problem: refused }
}

function readRun(ledger: Ledger, caller: Principal, run: string): ReturnType<Ledger['run']> | undefined {
  return run === '' ? undefined : ledger.run(caller, run)
}

/** The status of an outcome, the same for a single command and in a batch. */
export function outcomeStatus(outcome: Success, spec: CommandSpec): number {
  if (spec.isAccepted?.(outcome) === true) return 202
  return outcome.created && spec.location !== undefined ? 201 : 200
}

function commandResponse(
  outcome: Outcome,
  spec: CommandSpec,
  { caller, path }: Pick<RequestContext, 'caller' | 'path'>,
): Response {
  const replayed = outcome.replayed ? { 'idempotency-replayed': 'true' } : undefined
  if (!outcome.ok) {
    const { refusal, revision } = outcome
    const headers = { ...(revision !== undefined && { etag: etag(revision) }), ...replayed }
    return problemResponse(problemOf(refusal, { caller, runPath: runPathOf(path) }), path, headers)
  }
  const status = outcomeStatus(outcome, spec)
  const location = status === 201 && spec.location?.(outcome, `/v1/runs/${outcome.runId}`)
  return json(status, outcome.body, { etag: etag(outcome.revision), ...(location && { location }), ...replayed })
}

/** The `/v1/runs/{run}` prefix of a longer path; undefined if the path names no run. */
export function runPathOf(path: string): string | undefined {
  return /^\/v1\/runs\/[^/]+/.exec(path)?.[0]
}

/** A string member of an answer; empty if it is absent or not a string. */
export function textMember(body: JsonObject, name: string): string {
  const value = body[name]
  return typeof value === 'string' ? value : ''
}
