/**
 * @module Mounts the model gateway at the paths of its providers: clients send a Countersign token as their API key, and refusals have the provider's format.
 */
import type { OpenAPIHono } from '@hono/zod-openapi'
import { WRITE_NAMED_RUNS } from '../access/access.ts'
import { accessRefusal } from '../access/check-access.ts'
import { CLOSED_BY_US } from '../resources/linked-signal.ts'
import type { Principal } from '../signing/tokens.ts'
import type { ModelGateway } from './app-deps.ts'
import { holdBody, readBytes } from './body.ts'
import { authenticate, type Gate, rateLimited, refusedToken } from './dispatch.ts'
import type { HttpContext, HttpEnv } from './http-context.ts'
import { validTraceparent } from './parameters.ts'
import { type Problem, problem, retryAfterMs, statusOf } from './problems.ts'

/** Maximum body of a request to a model, including images. */
const BODY_MAX_BYTES = 32 * 1024 * 1024
const KEY_PREFIX = 'sk-cs-'

export function mountGateway(app: OpenAPIHono<HttpEnv>, gate: Gate, gateway: ModelGateway): void {
  for (const prefix of gateway.prefixes) {
    const track = gate.metrics.tracker('any', prefix)
    app.all(`${prefix}/*`, async (c) => {
      const startedMs = track.begin()
      const response = await answered(c, gate, gateway).catch((error: unknown) => {
        gate.deps.log.error({ err: error, path: c.req.path }, 'a request to a model failed')
        return refusal(gateway, c, problem('internal', 'the server failed'))
      })
      track.end(startedMs, response.status)
      return response
    })
  }
}

async function answered(c: HttpContext, gate: Gate, gateway: ModelGateway): Promise<Response> {
  const { deps } = gate
  const key = clientKey(c)
  const token = key?.startsWith(KEY_PREFIX) === true ? key.slice(KEY_PREFIX.length) : key
  const who = await authenticate(token === undefined ? undefined : `Bearer ${token}`, deps.verifier)
  if (!who.ok) return refusal(gateway, c, refusedToken(who, gate, c))
  c.env?.authenticated?.()
  const { principal } = who
  if (deps.settings.requestLog) c.set('caller', principal)
  const refused = accessRefusal(WRITE_NAMED_RUNS, principal, undefined)
  if (refused !== undefined) return refusal(gateway, c, refused)
  const limited = deps.rates.admit(principal, 'write')
  if (limited !== undefined) return refusal(gateway, c, rateLimited(limited))
  const turn = deps.work.requests.enter(principal.tenant)
  if (turn !== undefined) await turn
  return withBody(c, gate, { gateway, key: token ?? '', principal })
}

async function withBody(
  c: HttpContext,
  { deps }: Gate,
  { gateway, key, principal }: { gateway: ModelGateway; key: string; principal: Principal },
): Promise<Response> {
  const body = holdBody(deps.memory, { c, tenant: principal.tenant, maxBytes: BODY_MAX_BYTES })
  if (body === undefined)
    return refusal(gateway, c, problem('overloaded', 'the bodies of requests in flight leave no room for this one'))
  try {
    const bytes = await readBytes({ c, body }, BODY_MAX_BYTES)
    if (!bytes.ok) return refusal(gateway, c, bytes.problem)
    const { method, path, url, raw } = c.req
    const mark = url.indexOf('?')
    return await gateway.answer({
      ...{ method, path, key, caller: principal, ledger: deps.ledger, headers: raw.headers, body: bytes.value },
      search: mark < 0 ? '' : url.slice(mark),
      traceparent: validTraceparent(c.req.header('traceparent')),
      gone: goneSignal(c, deps.draining),
      sever: () => severed(c),
    })
  } finally {
    body.release()
  }
}

/** The clients of the two providers send their keys in different headers. */
function clientKey(c: HttpContext): string | undefined {
  const bearer = /^Bearer +(\S+) *$/i.exec(c.req.header('authorization') ?? '')?.[1]
  return bearer ?? c.req.header('x-api-key')
}

/** A client that closes its sending side counts as disconnected, so that no one is charged for an answer that is not read. */
function goneSignal(c: HttpContext, draining: AbortSignal): AbortSignal {
  const gone = new AbortController()
  const socket = c.env?.incoming?.socket
  let hasLeft = false
  const end = (): void => {
    hasLeft = true
    socket?.end()
  }
  socket?.once('end', end)
  c.env?.outgoing?.once('close', () => {
    socket?.off('end', end)
    // As the process ends, a connection that closes without a word of its client was cut here.
    const isOurs = draining.aborted && !hasLeft && (socket?.errored ?? null) === null
    gone.abort(isOurs ? CLOSED_BY_US : undefined)
  })
  return gone.signal
}

function severed(c: HttpContext): boolean {
  const socket = c.env?.outgoing?.socket
  socket?.destroySoon()
  return socket !== undefined && socket !== null
}

function refusal(gateway: ModelGateway, c: HttpContext, refused: Problem): Response {
  const waitMs = retryAfterMs(refused)
  const after = waitMs === undefined ? {} : { 'retry-after': String(Math.max(1, Math.ceil(waitMs / 1000))) }
  return gateway.refuse(c.req.path, {
    status: statusOf(refused),
    code: refused.code.replaceAll('-', '_'),
    message: refused.detail,
    retry: waitMs !== undefined,
    headers: { ...refused.headers, ...after },
  })
}
