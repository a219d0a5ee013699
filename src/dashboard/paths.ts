/** @module Paths of all pages. Text from records and callers is encoded only here. */

export const ROOT = '/ui'
export const OVERVIEW = `${ROOT}/overview`
export const RUNS = `${ROOT}/runs`
export const DOUBTS = `${ROOT}/doubts`
export const SERVICE = `${ROOT}/service`
export const SPEND = `${ROOT}/spend`
export const LOG = `${ROOT}/log`
export const CHECK_CHECKPOINT = `${LOG}/check`
export const AUDIT = `${ROOT}/audit`
export const APPROVALS = `${ROOT}/approvals`
export const SUSPECTS = `${ROOT}/suspects`
export const SIGN_IN = `${ROOT}/sign-in`
export const SIGN_OUT = `${ROOT}/sign-out`
export const LIVE = `${ROOT}/live`
export const THEME = `${ROOT}/theme`

type Query = Readonly<Record<string, string | number | undefined>>

export function withQuery(path: string, query: Query): string {
  const inputs = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  if (inputs.length === 0) return path
  return `${path}?${new URLSearchParams(inputs.map(([name, value]) => [name, String(value)]))}`
}

/** A run, now or at a moment: links from its pages keep that moment. */
export type RunPlace = string | { readonly runId: string; readonly asOf?: string | undefined }

function ofRun(run: RunPlace, rest: string, query: Query = {}): string {
  const { runId, asOf } = typeof run === 'string' ? { runId: run } : run
  return withQuery(`${RUNS}/${encodeURIComponent(runId)}${rest}`, { ...query, asOf })
}

export const runPath = (run: RunPlace, query: Query = {}): string => ofRun(run, '', query)
/** The moment as it applies to other runs and to the list: only a size of the log does; an event of this run is no moment there. */
export const ofLog = (asOf: string | undefined): string | undefined => (/^\d+$/.test(asOf ?? '') ? asOf : undefined)
export const runsPath = (run: RunPlace): string =>
  withQuery(RUNS, { asOf: typeof run === 'string' ? undefined : ofLog(run.asOf) })
export const eventPath = (run: RunPlace, revision: number): string => ofRun(run, `/events/${revision}`)
export const refusalsPath = (run: RunPlace): string => ofRun(run, '/refusals')
export const refusalPath = (run: RunPlace, revision: number): string => ofRun(run, `/refusals/${revision}`)
export const diffPath = (run: RunPlace, from: number, to: number): string => ofRun(run, '/diff', { from, to })
export const resolvePath = (run: string, callId: string): string =>
  `${runPath(run)}/calls/${encodeURIComponent(callId)}/resolve`
export const approvalPath = (run: RunPlace, approval: string): string =>
  ofRun(run, `/approvals/${encodeURIComponent(approval)}`)
export const suspectsPath = (run: RunPlace): string => ofRun(run, '/suspects')
export const declaredPath = (run: RunPlace): string => ofRun(run, '/declared')
export const declaredPolicyPath = (run: RunPlace): string => ofRun(run, '/declared/policy.json')
/** Pending approvals, now or at a size of the log; `place` is the cursor of a page of the past. */
export const approvalsPath = (asOf?: number, place?: string): string => withQuery(APPROVALS, { asOf, place })
export const verifyPath = (run: string): string => `${runPath(run)}/verify`
export const downloadPath = (apiPath: string): string => `${ROOT}/download/${apiPath}`
export const asset = (name: string): string => `${ROOT}/assets/${name}`

/** The page to open after signing in: always one of the dashboard's own pages. */
export function safeNext(next: string | undefined): string {
  if (next === undefined || next.length > 2_048 || !/^\/ui(?:\/[\x21-\x5b\x5d-\x7e]*)?$/.test(next)) return OVERVIEW
  // `//host` and dot segments would lead to a different place than the text suggests.
  const { pathname, search, host } = new URL(next, 'http://ui.invalid')
  if (host !== 'ui.invalid' || !pathname.startsWith(ROOT) || pathname.startsWith(SIGN_IN)) return OVERVIEW
  return pathname + search
}

/** The data with which a browser checks an event on its own. */
export const evidencePath = (run: string, revision: number): string => `${eventPath(run, revision)}/evidence`

export const livePath = (run: string): string => `${runPath(run)}/live`

export const auditPath = (name: string): string => `${AUDIT}/${name}`

export const bundlePath = (run: string): string => downloadPath(withQuery('bundle', { run }))

export const contextPath = (run: RunPlace, step: number): string => ofRun(run, '/context', { step })
