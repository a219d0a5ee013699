/** @module Routes without a token (health, public keys, the API's description, the problem pages), and the metrics. */

import { HealthAnswer, KeySetAnswer, ProblemTextAnswer, ReadinessAnswer } from '../../../schemas/answers/system.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { METRICS } from '../../access/access.ts'
import { ACKNOWLEDGED, type LedgerStats, NOTES_GONE } from '../../ledger/ledger-stats.ts'
import { json, problemResponse, streamed } from '../answers.ts'
import type { HttpContext } from '../http-context.ts'
import type { HttpMetrics } from '../metrics.ts'
import { NoQuery } from '../parameters.ts'
import { isProblemCode, STATUS } from '../problem-codes.ts'
import { PROBLEM_TEXTS } from '../problem-texts.ts'
import { problem } from '../problems.ts'
import type { HttpDeps, OpenRoute, Route } from '../route.ts'

const tag = 'system'

export function systemRoutes(deps: HttpDeps, metrics: HttpMetrics): readonly Route[] {
  return [...openRoutes, metricsRoute(deps, metrics)]
}

const openRoutes: readonly OpenRoute[] = [
  {
    access: 'open',
    method: 'get',
    path: '/healthz',
    summary: 'The process answers',
    tag,
    answer: HealthAnswer,
    handle: (_, { version }) => json(200, { status: 'ok', version }),
  },
  {
    access: 'open',
    method: 'get',
    path: '/readyz',
    summary: 'Ready for requests',
    tag,
    answer: ReadinessAnswer,
    handle: readiness,
  },
  {
    access: 'open',
    method: 'get',
    path: '/.well-known/jwks.json',
    summary: 'Public keys that check the tokens made here',
    tag,
    answer: KeySetAnswer,
    handle: (_, { jwks }) => json(200, jwks() as never, { 'cache-control': 'public, max-age=60' }),
  },
  {
    access: 'open',
    method: 'get',
    path: '/problems/{code}',
    summary: 'What a problem means and what to do about it',
    tag,
    answer: ProblemTextAnswer,
    handle: problemPage,
  },
]

const POSITIONS_LOST =
  'the store has lost events, and nothing tells whose: run "countersign verify", and put the newer store back; only if that is lost for good, keep a copy, and tell those who audit this ledger'

const NOTES_LOST =
  'notes of the writers of the store are gone or altered, and with them events may be that nothing names: run "countersign verify", put the rows of event_groups back as they were, and start the ledgers again; only if they are lost for good, keep a copy, and tell those who audit this ledger'

function readiness(c: HttpContext, { ledger, draining, isLeaving }: HttpDeps): Response {
  const { state, detail } = ledger.status()
  if (draining.aborted || isLeaving())
    return problemResponse(problem('not-ready', 'the server is stopping'), c.req.path)
  if (state === 'ready') {
    const { stamping, ...stats } = ledger.stats()
    const lost = stats.stoppedLogs.find(({ tenant }) => tenant === undefined)
    if (lost !== undefined) {
      const evidence = { store: state, losses: [{ scope: 'store', code: lost.code }] }
      return problemResponse(
        problem('not-ready', lost.code === NOTES_GONE ? NOTES_LOST : POSITIONS_LOST, { evidence }),
        c.req.path,
      )
    }
    const building = stats.building.map((each) => ({ ...each }))
    const holed = stats.holedLogs.map((tenant) => ({ tenant, code: ACKNOWLEDGED }))
    const losses = [...stats.stoppedLogs, ...holed].map((each) => ({ scope: 'tenant', ...each }))
    const { faults } = stats.integrity
    const more = {
      ...(building.length > 0 && { building }),
      ...(losses.length > 0 && { losses }),
      ...(faults > 0 && { brokenEvents: faults }),
      ...timestampsOf(stamping),
    }
    return json(200, { status: 'ready', store: state, ...more })
  }
  const reason = state === 'full' ? 'the disk of the store is full: it takes no appends' : detail
  return problemResponse(
    problem('not-ready', reason ?? `the store is ${state}`, { evidence: { store: state } }),
    c.req.path,
  )
}

/** Requests do not wait for time-stamps: a server whose time-stamps are due is ready, and reports the delay. */
function timestampsOf(stamping: LedgerStats['stamping']): { readonly timestamps?: JsonObject } {
  if (stamping?.dueSinceMs === undefined) return {}
  const { dueSinceMs, late, lastFailure } = stamping
  const timeOf = (ms: number): string => new Date(ms).toISOString()
  const failed = lastFailure && { lastFailure: { at: timeOf(lastFailure.atMs), code: lastFailure.code } }
  return { timestamps: { late, dueSince: timeOf(dueSinceMs), ...failed } }
}

function problemPage(c: HttpContext): Response {
  const code = c.req.param('code') ?? ''
  if (!isProblemCode(code)) return problemResponse(problem('not-found', 'there is no such problem'), c.req.path)
  const { title, remedy } = PROBLEM_TEXTS[code]
  return json(
    200,
    { type: `/problems/${code}`, code, title, status: STATUS[code], remedy },
    { 'cache-control': 'public, max-age=3600' },
  )
}

/** Open only if the settings say so, because counts are sensitive business data. */
function metricsRoute({ settings }: HttpDeps, metrics: HttpMetrics): Route {
  const answer = async (): Promise<Response> => {
    const text = await metrics.text()
    const bytes = new TextEncoder().encode(text)
    return streamed(new Blob([bytes]).stream(), metrics.contentType)
  }
  const route = {
    method: 'get',
    path: '/metrics',
    summary: 'Counters for Prometheus',
    tag,
    produces: 'text/plain',
  } as const
  if (settings.openMetrics) return { ...route, access: 'open', handle: answer }
  return { ...route, access: METRICS, query: NoQuery, handle: answer }
}
