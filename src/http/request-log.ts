/** @module Logs one line per request, if the settings ask for it. Data from a query or a body is not logged. */
import { performance } from 'node:perf_hooks'
import type { MiddlewareHandler } from 'hono'
import { routePath } from 'hono/route'
import type { AppDeps } from './app-deps.ts'
import { type HttpEnv, remoteAddress } from './http-context.ts'

const PATH_MAX_CHARS = 512
const OF_SUBJECTS = '/v1/subjects/'

/** Logs when the head of the answer is ready; a tail or an export continues after its line. */
export function requestLog({ log }: Pick<AppDeps, 'log'>): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    const startedMs = performance.now()
    await next()
    const caller = c.get('caller')
    const route = routePath(c, -1)
    const fields = {
      method: c.req.method,
      route,
      // The path of a subject identifies a person, so only the route is logged.
      path: route.startsWith(OF_SUBJECTS) ? route : c.req.path.slice(0, PATH_MAX_CHARS),
      status: c.res.status,
      elapsedMs: Math.round((performance.now() - startedMs) * 10) / 10,
      remote: remoteAddress(c),
      ...(caller !== undefined && { tenant: caller.tenant, subject: caller.subject, actor: caller.actor }),
    }
    log.info(fields, 'request')
  }
}
