/** @module Mounts the dashboard at `/ui` with services of the HTTP edge: rates, slots, problem texts, and the API under the session's token. */
import type { OpenAPIHono } from '@hono/zod-openapi'
import { createDashboard } from '../dashboard/dashboard.tsx'
import type { DashboardContext } from '../dashboard/deps.ts'
import type { Gate } from './dispatch.ts'
import { type HttpContext, type HttpEnv, remoteAddress } from './http-context.ts'
import { beginReading, openLivePage } from './live-page.ts'
import { isProblemCode, STATUS } from './problem-codes.ts'
import { PROBLEM_TEXTS } from './problem-texts.ts'

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
    strictAccess: deps.settings.strictAccess,
    acquireStream: (tenant, kind) => slots.acquire(tenant, kind),
    beginReading: (c, reader) => beginReading(deps, c as unknown as HttpContext, reader),
    openLive: (c, live) => openLivePage(deps, c as unknown as HttpContext, live),
    api: (c, path, token) => app.fetch(apiRequest(c, path, token), c.env),
    explain: (code) => {
      const known = isProblemCode(code) ? code : 'internal'
      return { status: STATUS[known], ...PROBLEM_TEXTS[known] }
    },
  })
  const track = metrics.tracker('any', '/ui')
  app.use('/ui/*', async (c, next) => {
    const startedMs = track.begin()
    await next()
    track.end(startedMs, c.res.status)
  })
  app.route('/ui', dashboard)
}

/** A GET as the owner of the session would send it: every check of the API applies, and the page's cookies are not passed on. */
function apiRequest(c: DashboardContext, path: string, token: string): Request {
  return new Request(new URL(path, c.req.url), {
    headers: { authorization: `Bearer ${token}` },
    signal: c.req.raw.signal,
  })
}
