/** @module The dashboard: every page behind one guard, the sign-in before it, and its own assets. */
import { randomBytes } from 'node:crypto'
import { Hono } from 'hono'
import { problemPage, seeOther } from './answer.tsx'
import { assetHandler } from './assets.ts'
import type { DashboardDeps, DashboardEnv } from './deps.ts'
import { guarded } from './guard.tsx'
import type { PageRoute } from './page.ts'
import { auditIndexPage, auditPage } from './pages/audit-page.tsx'
import { contextPage } from './pages/context-page.tsx'
import { diffPage } from './pages/diff-page.tsx'
import { downloadRoute } from './pages/download.ts'
import { eventPage, evidenceRoute } from './pages/event-page.tsx'
import { liveRun, liveRuns } from './pages/live.ts'
import { logPage } from './pages/log-page.tsx'
import { latestRefusal, refusalPage } from './pages/refusal-page.tsx'
import { runListPage } from './pages/run-list.tsx'
import { runPage } from './pages/run-page.tsx'
import { chooseTheme, showSignIn, signIn, signOut } from './pages/sign-in.tsx'
import { spendPage } from './pages/spend-page.tsx'
import { verifyPage } from './pages/verify-page.tsx'
import { RUNS } from './paths.ts'
import { createSessions } from './sessions.ts'

const PAGES: readonly PageRoute[] = [
  runListPage,
  runPage,
  liveRuns,
  liveRun,
  eventPage,
  evidenceRoute,
  refusalPage,
  latestRefusal,
  diffPage,
  contextPage,
  verifyPage,
  downloadRoute,
  spendPage,
  logPage,
  auditIndexPage,
  auditPage,
]

/** To be mounted at `/ui`. */
export function createDashboard(deps: DashboardDeps): Hono<DashboardEnv> {
  const guard = { deps, sessions: createSessions(deps.now, deps.memory) }
  const signing = { ...guard, secret: randomBytes(32) }
  const app = new Hono<DashboardEnv>()
  app.get('/', (c) => seeOther(c, RUNS))
  app.get('/assets/:name', assetHandler())
  app.get('/sign-in', showSignIn(signing))
  app.post('/sign-in', signIn(signing))
  app.post('/sign-out', signOut(signing))
  app.post('/theme', chooseTheme(signing))
  for (const page of PAGES) app.on(page.method.toUpperCase(), page.path, guarded(page, guard))
  const detail = 'There is no page at this address, or not for this kind of request.'
  app.all('*', (c) => problemPage({ c, deps }, { status: 404, title: 'No such page', detail }))
  return app
}
