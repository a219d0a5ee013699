/** @module The path of every request: count it, check its token (RFC 6750), scope, bonds, rate and query, answer it, and let no exception out. */
import { lossesMember } from '../../schemas/loss.ts'
import { RUN_ID_PATTERN } from '../../schemas/value-forms.ts'
import type { TokenAccess } from '../access/access.ts'
import { type AccessRead, isAudited, readOf } from '../access/audit-trail.ts'
import { accessRefusal } from '../access/check-access.ts'
import type { RateFault } from '../access/rates.ts'
import type { Refusal } from '../domain/refusal.ts'
import type { Caller } from '../ledger/ledger.ts'
import type { Pace } from '../resources/work-queue.ts'
import type { Principal, TokenFault, TokenResult, TokenVerifier } from '../signing/tokens.ts'
import { countUnsent, problemResponse } from './answers.ts'
import { bodiesInFlight, holdBody } from './body.ts'
import { failure } from './failure.ts'
import { type HttpContext, remoteAddress } from './http-context.ts'
import type { HttpMetrics } from './metrics.ts'
import { type Parsed, parseQuery, validTraceparent } from './parameters.ts'
import { type Problem, problem } from './problems.ts'
import type { AccessNote, GuardedRoute, HttpDeps, RequestContext, Route } from './route.ts'

export interface Gate {
  readonly deps: HttpDeps
  readonly metrics: HttpMetrics
}

/** Answers with this status or a higher one are refusals. */
const REFUSED_STATUS = 400

export type Handler = (c: HttpContext) => Promise<Response>

/** The handler of a route. Never throws. */
export function dispatcher(route: Route, gate: Gate): Handler {
  const form = formOf(route)
  const track = gate.metrics.tracker(route.method, route.path)
  const answers = gate.deps.memory.account('answers')
  return async (c) => {
    const startedMs = track.begin()
    let response: Response
    try {
      response = await (route.access === 'open' ? route.handle(c, gate.deps) : guarded(route, gate, { c, form }))
    } catch (error) {
      response = failure(error, gate.deps, c)
    }
    const traceparent = validTraceparent(c.req.header('traceparent'))
    if (traceparent !== undefined) response.headers.set('traceparent', traceparent)
    countUnsent(answers, c, response)
    track.end(startedMs, response.status)
    return response
  }
}

/** The parts of a route that are the same for every request. */
interface RouteForm {
  /** Name of the path parameter besides the run: `call`, `reservation`. */
  readonly itemName: string | undefined
  readonly ofRun: boolean
  /** The path with its parameters decoded. */
  readonly path: (run: string, item: string) => string
  /** The parsed query of a request without a query string. */
  readonly noQuery: Parsed<object>
}

const JSON_TYPE = /^application\/(?:problem\+)?json\b/

function formOf(route: Route): RouteForm {
  const parts = route.path.split(/\{(\w+)\}/)
  const names = parts.filter((_, at) => at % 2 === 1)
  return {
    itemName: names.find((name) => name !== 'run'),
    ofRun: names.includes('run'),
    path: (run, item) =>
      parts.reduce((path, part, at) => path + (at % 2 === 0 ? part : part === 'run' ? run : item), ''),
    noQuery: route.access === 'open' ? { ok: true, value: {} } : parseQuery(route.query, ''),
  }
}

/** Authenticates a request outside of the routes and checks scope, bonds and rate as for a route. Returns the principal, or the refusal. */
export async function admitted(
  c: HttpContext,
  gate: Gate,
  { access, kind }: { readonly access: TokenAccess; readonly kind: 'read' | 'write' },
): Promise<Principal | Response> {
  const who = await authenticate(c.req.header('authorization'), gate.deps.verifier)
  if (!who.ok) return problemResponse(refusedToken(who, gate, c), c.req.path)
  c.env?.authenticated?.()
  const { principal } = who
  if (gate.deps.settings.requestLog) c.set('caller', principal)
  const refused = accessRefusal(access, principal, undefined)
  if (refused !== undefined) return problemResponse(forbidden(refused), c.req.path)
  const limited = gate.deps.rates.admit(principal, kind)
  return limited === undefined ? principal : problemResponse(rateLimited(limited), c.req.path)
}

async function guarded(
  route: GuardedRoute,
  gate: Gate,
  { c, form }: { c: HttpContext; form: RouteForm },
): Promise<Response> {
  const { deps } = gate
  const authenticated = authenticate(c.req.header('authorization'), deps.verifier)
  const who = authenticated instanceof Promise ? await authenticated : authenticated
  if (!who.ok) return problemResponse(refusedToken(who, gate, c), c.req.path)

  c.env?.authenticated?.()
  const { principal } = who
  if (deps.settings.requestLog) c.set('caller', principal)
  const caller: Principal & Pick<Caller, 'pace'> =
    route.method === 'get' ? { pace: paceOf(deps, principal, c), ...principal } : principal
  const run = c.req.param('run') ?? ''
  const withRun = run !== '' || form.ofRun
  const refused = accessRefusal(route.access, caller, withRun ? run : undefined)
  if (refused !== undefined) return problemResponse(forbidden(refused), c.req.path)
  const limited = deps.rates.admit(caller, route.method === 'get' ? 'read' : 'write')
  if (limited !== undefined) return problemResponse(rateLimited(limited), c.req.path)
  if (withRun && !RUN_ID_PATTERN.test(run)) return problemResponse(noSuchRun, c.req.path)

  const turn = deps.work.requests.enter(principal.tenant)
  if (turn !== undefined) await turn

  const mark = c.req.url.indexOf('?')
  const query = mark < 0 ? form.noQuery : parseQuery(route.query, c.req.url.slice(mark + 1))
  if (!query.ok) return problemResponse(query.problem, c.req.path)
  const item = form.itemName === undefined ? '' : (c.req.param(form.itemName) ?? '')
  const path = form.path(run, item)
  const access = accessNote(route, { c, deps, caller, run })
  const context = { c, deps, caller, run, item, path, query: query.value }
  if (route.body !== undefined) return withBody(route, context)
  if (deps.memory.account('answers').isFull) return problemResponse(answersUnsent, path)
  if (access === undefined) {
    const answered = await withLosses(await route.handle(context), context)
    if (route.access.payloads === true && answered.status < REFUSED_STATUS)
      await notePayloads(deps, { caller, run, answered })
    return answered
  }
  const response = await withLosses(await route.handle({ access, ...context }), context)
  // A refusal disclosed nothing; a stream records itself before it ends.
  if (response.status < REFUSED_STATUS && access.streamed === undefined) await access.record()
  return response
}

/** Adds the known losses of the tenant, or of the run in question, to the answer, so that an incomplete answer is marked as such. */
async function withLosses(response: Response, { deps, caller, run, query }: RequestContext): Promise<Response> {
  const type = response.headers.get('content-type') ?? ''
  if (!JSON_TYPE.test(type)) return response
  const about = (query as { readonly run?: string } | undefined)?.run
  const range = run === '' ? { about } : { run }
  const losses = lossesMember(deps.ledger.losses({ tenant: caller.tenant, ...range }))
  if (losses === undefined) return response
  const text = await response.text()
  const headers = new Headers(response.headers)
  headers.delete('content-length')
  const body = text.startsWith('{"') ? `{"losses":${JSON.stringify(losses)},${text.slice(1)}` : text
  return new Response(body, { status: response.status, headers })
}

/** If the read can no longer be noted, the answer is discarded and the error is thrown. */
async function notePayloads(
  { ledger }: HttpDeps,
  { caller, run, answered }: { readonly caller: Caller; readonly run: string; readonly answered: Response },
): Promise<void> {
  try {
    ledger.audit?.notePayloads(caller, run)
  } catch (error) {
    await answered.body?.cancel()
    throw error
  }
}

/** The reader counts as disconnected once its connection is destroyed. */
function paceOf({ work }: HttpDeps, { tenant, subject }: Principal, c: HttpContext): Pace {
  const outgoing = c.env?.outgoing
  return work.begin({ tenant, caller: subject }, () => outgoing?.destroyed === true)
}

/** None of the body is read before there is memory for it. */
async function withBody(route: GuardedRoute, context: RequestContext): Promise<Response> {
  const { deps, c, caller, path } = context
  const { batchMaxBytes, bodyMaxBytes, valueBodyMaxBytes } = deps.settings
  const single = route.takesValue === true ? valueBodyMaxBytes : bodyMaxBytes
  const maxBytes = route.takesBatch === true ? batchMaxBytes : single
  const body = holdBody(deps.memory, { c, tenant: caller.tenant, maxBytes })
  if (body === undefined) return problemResponse(bodiesInFlight, path)
  const written = deps.work.writes.begin()
  try {
    return await route.handle({ body, ...context })
  } finally {
    written()
    body.release()
  }
}

const answersUnsent = problem('overloaded', 'too many answers wait to be read')
const noSuchRun = problem('run-not-found', 'there is no such run')

/** RFC 6750 section 2.1: the token is accepted in the Authorization header only. */
const BEARER = /^Bearer +([A-Za-z0-9\-._~+/]+=*) *$/i

const REALM = 'Bearer realm="countersign"'

type Authenticated =
  | { readonly ok: true; readonly principal: Principal }
  /** `fault` is only logged. */
  | { readonly ok: false; readonly fault: TokenFault | 'token-missing' | 'token-not-bearer'; readonly problem: Problem }

/** The bearer token of an Authorization header; undefined if there is none. */
export function bearerToken(header: string | undefined): string | undefined {
  return header === undefined ? undefined : BEARER.exec(header)?.[1]
}

export function authenticate(
  header: string | undefined,
  verifier: Pick<TokenVerifier, 'verify'>,
): Authenticated | Promise<Authenticated> {
  if (header === undefined) return { ok: false, fault: 'token-missing', problem: missing }
  const token = bearerToken(header)
  if (token === undefined) return { ok: false, fault: 'token-not-bearer', problem: tokenRefused }

  const verified = verifier.verify(token)
  return verified instanceof Promise ? verified.then(authenticatedBy) : authenticatedBy(verified)
}

function authenticatedBy(verified: TokenResult): Authenticated {
  return verified.ok
    ? { ok: true, principal: verified.claims }
    : { ok: false, fault: verified.code, problem: tokenRefused }
}

/** The same body for every fault: only the issuer of a token may learn what is wrong with it. */
const DETAIL = 'this needs a valid bearer token'
const missing = problem('unauthenticated', DETAIL, { headers: { 'www-authenticate': REALM } })
export const tokenRefused = problem('unauthenticated', DETAIL, {
  headers: { 'www-authenticate': `${REALM}, error="invalid_token"` },
})

/** Refusal of a valid token that lacks a permission, with the challenge of RFC 6750 section 3 if a scope is missing. */
function forbidden(refused: Refusal): Problem {
  const required = refused.code === 'scope-missing' ? refused.evidence?.required : undefined
  if (!Array.isArray(required)) return refused
  const challenge = `${REALM}, error="insufficient_scope", scope="${required[0] ?? ''}"`
  return { ...refused, headers: { 'www-authenticate': challenge } }
}

/** Counted after the check, so that clients that share an address with a guesser are not locked out. */
export function refusedToken(
  who: { readonly fault: string; readonly problem: Problem },
  gate: Gate,
  c: HttpContext,
): Problem {
  const remote = remoteAddress(c)
  gate.deps.log.info({ fault: who.fault, remote }, 'a token was refused')
  if (who.fault === 'token-missing') return who.problem
  const waitMs = gate.deps.rates.refusedToken(remote)
  if (waitMs === 0) return who.problem
  return problem('rate-limited', 'too many refused tokens from this address', { retryAfterMs: waitMs })
}

export function rateLimited({ limit, waitMs: retryAfterMs }: RateFault): Problem {
  const detail = LIMITED[limit]
  return problem('rate-limited', detail, { retryAfterMs, evidence: { limit } })
}

const LIMITED: Readonly<Record<RateFault['limit'], string>> = {
  requests: 'this tenant or token asks more often than it may',
  work: 'the requests of this tenant or token took more than their share of the server: send smaller ones, or wait',
}

export interface Reading {
  readonly c: HttpContext
  readonly deps: HttpDeps
  readonly caller: Principal
  readonly run: string
}

/** The access note of a read that is recorded (LOG-20): the handler adds details, and `record` writes it. Undefined if the read is not recorded. */
export function accessNote(route: GuardedRoute, { c, deps, caller, run }: Reading): AccessNote | undefined {
  if (route.method !== 'get' || !isAudited(route.access, caller, deps.settings.strictAccess)) return undefined
  // Read last, because a ledger whose store is unavailable throws here.
  const { audit } = deps.ledger
  if (audit === undefined) return undefined
  const query = route.path.replace('/v1/', '').replaceAll(/\/?\{\w+\}/g, '')
  const question = (): AccessRead => readOf(query, run, new URL(c.req.url).searchParams)
  const note: AccessNote = { record: (cut) => audit.record(caller, noted(question(), note, cut)) }
  return note
}

function noted(read: AccessRead, { count, eventId, verdict }: AccessNote, cut: true | undefined): AccessRead {
  return {
    ...read,
    ...(eventId !== undefined && { asOf: { eventId } }),
    ...(count !== undefined && { count }),
    ...(verdict !== undefined && { verdict }),
    ...(cut === true && { cut }),
  }
}
