/** @module Mounts the dashboard at `/ui` with services of the HTTP edge: rates, slots, problem texts, and the API under the session's token. */
import type { OpenAPIHono } from '@hono/zod-openapi'
import { createDashboard } from '../dashboard/dashboard.tsx'
import type { DashboardContext, Explained, LiveFrames, PageReader } from '../dashboard/deps.ts'
import { asSentence } from '../dashboard/format.ts'
import type { Pace } from '../resources/work-queue.ts'
import { streamed } from './answers.ts'
import type { Gate } from './dispatch.ts'
import { problemOfError } from './failure.ts'
import { type HttpContext, type HttpEnv, remoteAddress } from './http-context.ts'
import { EVENT_STREAM } from './open-stream.ts'
import { isProblemCode, STATUS } from './problem-codes.ts'
import { PROBLEM_TEXTS } from './problem-texts.ts'
import type { HttpDeps } from './route.ts'
import { runStream } from './run-stream.ts'
import { heartbeats } from './sse.ts'

export function mountDashboard(app: OpenAPIHono<HttpEnv>, { deps, metrics }: Gate): void {
  const { ledger, verifier, version, now, log, slots, rates, memory } = deps
  const dashboard = createDashboard({
    ledger,
    verifier,
    version,
    now,
    log,
    remoteAddress: (c) => remoteAddress(c as unknown as HttpContext),
    authenticated: (c, caller) => {
      const context = c as unknown as HttpContext
      context.env?.authenticated?.()
      context.set('caller', caller)
    },
    rates,
    memory,
    retention: deps.retention,
    strictAccess: deps.settings.strictAccess,
    acquireStream: (tenant, kind) => slots.acquire(tenant, kind),
    beginReading: (c, reader) => beginReading(deps, c as unknown as HttpContext, reader),
    openLive: (c, live) => openLivePage(deps, c as unknown as HttpContext, live),
    api: (c, path, token) => app.fetch(apiRequest(c, path, token), c.env),
    explain,
    explainError: (error) => {
      const known = problemOfError(error)
      return known && { ...explain(known.code), code: known.code, detail: asSentence(known.detail) }
    },
  })
  const track = metrics.tracker('any', '/ui')
  app.use('/ui/*', async (c, next) => {
    const startedMs = track.begin()
    await next()
    track.end(startedMs, c.res.status)
  })
  app.route('/ui', dashboard)
  app.get('/', (c) => c.redirect('/ui', 303))
}

function explain(code: string): Explained {
  const known = isProblemCode(code) ? code : 'internal'
  return { status: STATUS[known], ...PROBLEM_TEXTS[known] }
}

/** A GET as the owner of the session would send it: every check of the API applies, and the page's cookies are not passed on. */
function apiRequest(c: DashboardContext, path: string, token: string): Request {
  return new Request(new URL(path, c.req.url), {
    headers: { authorization: `Bearer ${token}` },
    signal: c.req.raw.signal,
  })
}

// Reads and live streams of the dashboard's pages; they end on the same conditions as every other stream.

/** Opens the live stream of a page, or returns the problem code if no slot is free. */
function openLivePage(deps: HttpDeps, c: HttpContext, live: LiveFrames): Response | 'too-many-streams' | 'overloaded' {
  const { caller, token, over, headers, frames } = live
  const release = deps.slots.acquire(caller.tenant, 'tail')
  if (typeof release === 'string') return release
  const body = runStream(deps, {
    c,
    token,
    expiresAt: caller.expiresAt,
    release,
    endless: true,
    over,
    chunks: (signal) => encoded(frames(signal), deps.settings.heartbeatMs),
  })
  return streamed(body, EVENT_STREAM, { ...headers, 'x-accel-buffering': 'no' })
}

/** Starts the reads of one page; they end when the client disconnects, or its token or session ends. */
function beginReading(
  { work, liveTokens }: HttpDeps,
  c: HttpContext,
  { caller, token, over }: PageReader,
): { readonly pace: Pace; readonly end: () => void } {
  const outgoing = c.env?.outgoing
  const { signal } = c.req.raw
  const hasLeft = (): boolean => over.aborted || signal.aborted || outgoing?.destroyed === true
  const pace = work.begin({ tenant: caller.tenant, caller: caller.subject }, hasLeft)
  return { pace, end: liveTokens.watch({ token, expiresAt: caller.expiresAt }, () => pace.leave()) }
}

async function* encoded(frames: AsyncIterable<string>, heartbeatMs: number): AsyncGenerator<Uint8Array, void> {
  const encoder = new TextEncoder()
  for await (const frame of heartbeats(frames, heartbeatMs)) yield encoder.encode(frame === 'quiet' ? ':\n\n' : frame)
}
