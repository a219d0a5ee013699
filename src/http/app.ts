/** @module The HTTP edge as one application: all routes behind one dispatcher, and an answer for requests that match none. */
import { performance } from 'node:perf_hooks'
import { OpenAPIHono } from '@hono/zod-openapi'
import type { MiddlewareHandler } from 'hono'
import { cors } from 'hono/cors'
import { routePath } from 'hono/route'
import { createRates } from '../access/rates.ts'
import { jsonText } from './answers.ts'
import { type AppDeps, type AppOptions, appDeps } from './app-deps.ts'
import { dispatcher, type Gate } from './dispatch.ts'
import { failure } from './failure.ts'
import { type HttpEnv, remoteAddress } from './http-context.ts'
import { createLiveTokens } from './live-tokens.ts'
import { createMetrics } from './metrics.ts'
import { mountDashboard } from './mount-dashboard.ts'
import { mountGateway } from './mount-gateway.ts'
import { mountMcp, mountMcpReads } from './mount-mcp.ts'
import { noRoute } from './no-route.ts'
import { openApiDocument, registerRoute } from './openapi.ts'
import type { HttpDeps, OpenRoute, Route } from './route.ts'
import { answerRoutes } from './routes/answers.ts'
import { approvalRoutes } from './routes/approvals.ts'
import { archiveRoutes } from './routes/archives.ts'
import { auditRoutes } from './routes/audit.ts'
import { type BatchOp, batchRoute } from './routes/batch.ts'
import { budgetRoutes } from './routes/budget.ts'
import { bundleRoutes } from './routes/bundle.ts'
import { callRoutes } from './routes/calls.ts'
import { envelopeRoutes } from './routes/envelopes.ts'
import { eventRoutes } from './routes/events.ts'
import { exportRoutes } from './routes/exports.ts'
import { forkRoutes } from './routes/forks.ts'
import { holdRoutes } from './routes/holds.ts'
import { integrityRoutes } from './routes/integrity.ts'
import { logRoutes } from './routes/log.ts'
import { lossRoutes } from './routes/losses.ts'
import { reviewRoutes } from './routes/reviews.ts'
import { runRoutes } from './routes/runs.ts'
import { subjectRoutes } from './routes/subjects.ts'
import { suspectRoutes } from './routes/suspects.ts'
import { systemRoutes } from './routes/system.ts'
import { tailRoutes } from './routes/tails.ts'
import { tokenRoutes } from './routes/tokens.ts'
import { waitRoutes } from './routes/waits.ts'
import { createStreamSlots } from './stream-slots.ts'

const runRoutesAll = [
  ...runRoutes,
  ...envelopeRoutes,
  ...callRoutes,
  ...approvalRoutes,
  ...suspectRoutes,
  ...waitRoutes,
  ...forkRoutes,
  ...budgetRoutes,
  ...eventRoutes,
  ...exportRoutes,
  ...bundleRoutes,
  ...tailRoutes,
  ...integrityRoutes,
  ...lossRoutes,
  ...logRoutes,
  ...auditRoutes,
  ...answerRoutes,
  ...subjectRoutes,
  ...holdRoutes,
  ...archiveRoutes,
  ...reviewRoutes,
  ...tokenRoutes,
]

/** Creates the application. `app.request(...)` answers without a socket; `startServer` listens on one. */
export function createApp(options: AppOptions): OpenAPIHono<HttpEnv> {
  const deps = createHttpDeps(options)
  const metrics = createMetrics(deps)
  const gate: Gate = { deps, metrics }
  const app = new OpenAPIHono<HttpEnv>()
  if (deps.settings.requestLog) app.use(requestLog(deps))
  const { corsOrigins } = deps.settings
  if (corsOrigins.length > 0) for (const path of CORS_PATHS) app.use(path, corsFor(corsOrigins))
  const routes = [...runRoutesAll, batchRoute(batchOps()), ...systemRoutes(deps, metrics), documentRoute(app)]
  for (const route of routes) {
    registerRoute(app, route)
    app.on(route.method.toUpperCase(), honoPath(route), dispatcher(route, gate))
  }
  mountDashboard(app, gate)
  if (options.gateway !== undefined) mountGateway(app, gate, options.gateway)
  if (deps.mcpReads !== undefined) mountMcpReads(app, gate, deps.mcpReads)
  if (deps.mcp !== undefined) mountMcp(app, gate, deps.mcp)
  app.notFound(noRoute(routes))
  app.onError((error, c) => failure(error, deps, c))
  return app
}

function createHttpDeps(options: AppOptions): HttpDeps {
  const deps = appDeps(options)
  const { streamsPerTenant, tokenCheckMs: checkMs } = deps.settings
  const rates = createRates(deps.settings, deps.memory, deps.now)
  deps.work.chargeTo(rates.worked)
  return {
    ...deps,
    slots: createStreamSlots(streamsPerTenant, deps.memory.account('streams')),
    liveTokens: createLiveTokens({ ...deps, checkMs }),
    rates,
  }
}

const honoPath = ({ path, deep }: Route): string => {
  const plain = path.replaceAll(/\{(\w+)\}/g, ':$1')
  return deep === true ? `${plain}{.+}` : plain
}

/** Every command that has its own route, by kind. */
function batchOps(): ReadonlyMap<string, BatchOp> {
  return new Map(
    runRoutesAll.flatMap(({ path, access, spec }) => (spec === undefined ? [] : [[spec.kind, { path, access, spec }]])),
  )
}

/** The document is generated on the first request, because most processes never serve it. */
function documentRoute(app: OpenAPIHono<HttpEnv>): OpenRoute {
  let text: string | undefined
  return {
    access: 'open',
    method: 'get',
    path: '/openapi.json',
    summary: 'This description',
    tag: 'system',
    handle: (_, { version }) => {
      text ??= openApiDocument(app, version)
      return jsonText(200, text, { 'cache-control': 'public, max-age=60' })
    },
  }
}

// Logs one line per request, if the settings ask for it. Data from a query or a body is not logged.

const PATH_MAX_CHARS = 512
const OF_SUBJECTS = '/v1/subjects/'

/** Logs when the head of the answer is ready; a tail or an export continues after its line. */
function requestLog({ log }: Pick<AppDeps, 'log'>): MiddlewareHandler<HttpEnv> {
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

// CORS: pages of exactly those origins that the operator named may call the API from a browser; the dashboard is never included.

/** The API and its description. The dashboard, whose sessions are cookies, and the metrics are excluded. */
const CORS_PATHS = ['/v1/*', '/openapi.json'] as const

const MAX_AGE_SECONDS = 600
/** Request headers of the API that browsers do not send on their own. */
const ALLOWED = [
  'authorization',
  'content-type',
  'idempotency-key',
  'if-match',
  'if-none-match',
  'last-event-id',
  'prefer',
  'traceparent',
]
/** Response headers that a page may read, in addition to those that browsers always expose. */
const EXPOSED = [
  'content-disposition',
  'etag',
  'idempotency-replayed',
  'location',
  'retry-after',
  'traceparent',
  'www-authenticate',
]

/** Callers are identified by bearer tokens alone, so browsers are never told to send credentials. */
function corsFor(origins: readonly string[]): MiddlewareHandler<HttpEnv> {
  return cors({
    origin: [...origins],
    allowMethods: ['GET', 'HEAD', 'POST'],
    allowHeaders: ALLOWED,
    exposeHeaders: EXPOSED,
    maxAge: MAX_AGE_SECONDS,
  })
}
