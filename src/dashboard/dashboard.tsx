/** @module The dashboard: all pages behind one guard, the sign-in, and its own assets. */
import { randomBytes } from 'node:crypto'
import { Hono } from 'hono'
import { seeOther } from './answer.tsx'
import { assetHandler } from './assets.ts'
import type { DashboardDeps, DashboardEnv } from './deps.ts'
import { guarded, noSuchPage } from './guard.tsx'
import type { OpenPage, PageRoute } from './page.ts'
import { approvalPage, approvalQueue, decideApproval } from './pages/approvals-page.tsx'
import { auditIndexPage, auditPage } from './pages/audit-page.tsx'
import { contextPage } from './pages/context-page.tsx'
import { declaredPage, declaredPolicy } from './pages/declared-page.tsx'
import { diffPage } from './pages/diff-page.tsx'
import { doubtsPage } from './pages/doubts-page.tsx'
import { downloadRoute } from './pages/download.ts'
import { eventPage, evidenceRoute } from './pages/event-page.tsx'
import { liveRun, liveRuns } from './pages/live.ts'
import { checkCheckpoint, logPage } from './pages/log-page.tsx'
import { overviewPage } from './pages/overview-page.tsx'
import { latestRefusal, refusalPage } from './pages/refusal-page.tsx'
import { resolveForm, resolvePage } from './pages/resolve-page.tsx'
import { runListPage } from './pages/run-list.tsx'
import { runPage } from './pages/run-page.tsx'
import { servicePage } from './pages/service-page.tsx'
import { chooseTheme, type SignInDeps, showSignIn, signIn, signOut } from './pages/sign-in.tsx'
import { spendPage } from './pages/spend-page.tsx'
import { reviewSuspects, runSuspects, suspectQueue } from './pages/suspects-page.tsx'
import { verifyPage } from './pages/verify-page.tsx'
import { OVERVIEW } from './paths.ts'
import { createSessions } from './sessions.ts'

export const PAGES: readonly PageRoute[] = [
  overviewPage,
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
  approvalQueue,
  approvalPage,
  decideApproval,
  suspectQueue,
  runSuspects,
  reviewSuspects,
  declaredPage,
  declaredPolicy,
  downloadRoute,
  doubtsPage,
  servicePage,
  resolvePage,
  resolveForm,
  spendPage,
  logPage,
  checkCheckpoint,
  auditIndexPage,
  auditPage,
]

/** To be mounted at `/ui`. */
export function createDashboard(deps: DashboardDeps): Hono<DashboardEnv> {
  const guard = { deps, sessions: createSessions(deps.now, deps.memory) }
  const app = new Hono<DashboardEnv>()
  for (const page of [...openPages({ ...guard, secret: randomBytes(32) }), ...PAGES])
    app.on(page.method.toUpperCase(), page.path, page.access === 'open' ? page.handle : guarded(page, guard))
  app.all('*', noSuchPage(guard))
  return app
}

function openPages(signing: SignInDeps): readonly OpenPage[] {
  const access = 'open'
  return [
    { method: 'get', path: '/', access, handle: (c) => seeOther(c, OVERVIEW) },
    { method: 'get', path: '/assets/:name', access, handle: assetHandler() },
    { method: 'get', path: '/sign-in', access, handle: showSignIn(signing) },
    { method: 'post', path: '/sign-in', access, handle: signIn(signing) },
    { method: 'post', path: '/sign-out', access, handle: signOut(signing) },
    { method: 'post', path: '/theme', access, handle: chooseTheme(signing) },
  ]
}
