/** @module The steps before every page: session, form secret, scope, token bounds, rate limit, query; errors become pages. */
import { randomUUID } from 'node:crypto'
import type { z } from 'zod'
import { RUN_ID_PATTERN } from '../../schemas/value-forms.ts'
import { READ_OWN_RUNS, type TokenAccess } from '../access/access.ts'
import { isAudited, readOf } from '../access/audit-trail.ts'
import { accessRefusal, mayOpen } from '../access/check-access.ts'
import type { Refusal } from '../domain/refusal.ts'
import { ReaderLeftError } from '../resources/work-queue.ts'
import type { Principal } from '../signing/tokens.ts'
import { type Frame, pageResponse, problemPage, seeOther } from './answer.tsx'
import { cookieOf, dropCookie, SESSION_COOKIE } from './cookies.ts'
import { isOwnSite, sameSecret } from './csrf.ts'
import type { DashboardContext, DashboardDeps } from './deps.ts'
import { readForm } from './form.ts'
import { PAGE_HEADERS } from './headers.ts'
import { type PageRoute, Refused, type View } from './page.ts'
import type { ProblemProps } from './parts/problem.tsx'
import { TypedAgain } from './parts/typed-again.tsx'
import { SIGN_IN, withQuery } from './paths.ts'
import type { Session, Sessions } from './sessions.ts'

export interface Guard {
  readonly deps: DashboardDeps
  readonly sessions: Sessions
}

/** The guarded handler of a page. It never throws. */
export function guarded(route: PageRoute, { deps, sessions }: Guard): (c: DashboardContext) => Promise<Response> {
  return async (c) => {
    try {
      const known = await signedIn(c, deps, sessions)
      if (known === undefined) return await askToSignIn(c, deps)
      return await served(route, { c, deps, ...known })
    } catch (error) {
      return failed({ c, deps }, error)
    }
  }
}

export interface Known {
  readonly session: Session
  readonly caller: Principal
}

/** The token is verified on every request: a session ends with its token, or when the token's key is no longer valid. */
export async function signedIn(
  c: DashboardContext,
  deps: DashboardDeps,
  sessions: Sessions,
): Promise<Known | undefined> {
  const session = sessions.find(cookieOf(c, SESSION_COOKIE))
  if (session === undefined) return undefined
  const result = await deps.verifier.verify(session.token)
  if (result.ok && result.claims.expiresAt > deps.now()) {
    deps.authenticated(c, result.claims)
    return { session, caller: result.claims }
  }
  sessions.end(session)
  dropCookie(c, SESSION_COOKIE)
  return undefined
}

/** The page for an unknown address; a reader who is signed in keeps the navigation. It never throws. */
export function noSuchPage({ deps, sessions }: Guard): (c: DashboardContext) => Promise<Response> {
  return async (c) => {
    try {
      const plain = withoutSlash(new URL(c.req.url))
      if (plain !== undefined && c.req.method !== 'POST') return seeOther(c, plain)
      const known = await signedIn(c, deps, sessions)
      if (known === undefined) return await problemPage({ c, deps }, NO_PAGE)
      const leadsOn = mayOpen(READ_OWN_RUNS, known.caller)
      return await problemPage(frameOf({ c, deps, ...known }), { ...NO_PAGE, leadsOn })
    } catch (error) {
      return failed({ c, deps }, error)
    }
  }
}

/** The same address without slashes at its end; undefined if there are none. It is below `/ui`, and so on this site. */
function withoutSlash({ pathname, search }: URL): string | undefined {
  const plain = pathname.replace(/\/+$/, '')
  return plain === pathname ? undefined : `${plain}${search}`
}

const NO_PAGE: ProblemProps = {
  status: 404,
  title: 'No such page',
  detail: 'There is no page at this address, or not for this kind of request.',
}

/** A link from another site comes without the `SameSite` cookie: a page that navigates from this site brings the cookie along. */
function askToSignIn(c: DashboardContext, deps: DashboardDeps): Promise<Response> | Response {
  const here = hereOf(c)
  if (c.req.method === 'POST') return seeOther(c, SIGN_IN)
  if (c.req.header('sec-fetch-site') === 'cross-site' && c.req.header('sec-fetch-mode') === 'navigate') {
    return pageResponse({ c, deps }, { title: 'One moment', body: <Bounce to={here} /> })
  }
  return seeOther(c, withQuery(SIGN_IN, { next: here }))
}

function hereOf(c: DashboardContext): string {
  const { pathname, search } = new URL(c.req.url)
  return pathname + search
}

interface Serving extends Known {
  readonly c: DashboardContext
  readonly deps: DashboardDeps
}

function frameOf({ c, deps, session, caller }: Serving): Frame {
  const here = c.req.method === 'GET' ? hereOf(c) : ''
  const broken = deps.ledger.integrity.broken(caller)
  return { c, deps, signedIn: { caller, csrf: session.csrf, here, broken } }
}

async function served(route: PageRoute, serving: Serving): Promise<Response> {
  const { c, deps, session, caller } = serving
  const frame = frameOf(serving)
  const form = c.req.method === 'POST' ? await readForm(c) : new Map<string, string>()
  if (c.req.method === 'POST' && !(isOwnSite(c) && sameSecret(form?.get('csrf'), session.csrf))) {
    return problemPage(frame, FORGED)
  }
  const run = c.req.param('run') ?? ''
  const fault = faultOf(route, serving, run)
  if (fault !== undefined) return problemPage(frame, fault)
  const query = parsedQuery(route.query, new URL(c.req.url).searchParams)
  if (!query.ok) return problemPage(frame, withForm(c, query.fault))

  // A HEAD response has no body that would be read, so no stream is opened for it.
  if (c.req.method === 'HEAD' && route.streams === true) return new Response(null, { headers: PAGE_HEADERS })

  // A stream reserves its own slot for as long as it is open.
  const release = route.streams === true ? () => undefined : deps.acquireStream(caller.tenant, route.reads ?? 'page')
  if (typeof release === 'string') return problemPage(frame, { ...deps.explain(release), detail: BUSY })
  const { token, over } = session
  const reading = deps.beginReading(c, { caller, token, over: over.signal })
  try {
    const view: View = {
      c,
      deps,
      session,
      caller: { ...caller, pace: reading.pace },
      run,
      query: query.value,
      form: form ?? new Map(),
      noted: {},
    }
    const answer = await route.handle(view)
    await recordReading(route, view).catch(async (error: unknown) => {
      // A stream that was opened but will not be sent must be closed.
      if (answer instanceof Response) await answer.body?.cancel()
      throw error
    })
    return answer instanceof Response ? answer : pageResponse(frame, answer)
  } catch (error) {
    return failed(frame, error)
  } finally {
    reading.end()
    release()
  }
}

const BUSY = 'Other pages, exports and tails of this tenant are still at work.'

const FORGED: ProblemProps = {
  status: 403,
  title: 'This form was not sent from here',
  detail: 'The form carries another secret than this session, or none.',
  remedy: 'Go back, reload the page and send it again.',
}

function faultOf(route: PageRoute, { c, deps, caller }: Serving, run: string): ProblemProps | undefined {
  const withRun = route.path.includes(':run')
  const refused = accessRefusal(route.access, caller, withRun ? run : undefined)
  if (refused !== undefined) return forbidden(refused, route.access, caller)
  const limited = deps.rates.admit(caller, c.req.method === 'POST' ? 'write' : 'read')
  if (limited !== undefined) {
    const detail = `Try again in ${Math.ceil(limited.waitMs / 1000)} s.`
    return { status: 429, title: limited.limit === 'work' ? 'Too much work' : 'Too many requests', detail }
  }
  if (withRun && !RUN_ID_PATTERN.test(run))
    return { ...deps.explain('run-not-found'), detail: `There is no run ${run}` }
  return undefined
}

function forbidden({ code, detail }: Refusal, { scopes }: TokenAccess, caller: Principal): ProblemProps {
  if (code !== 'scope-missing')
    return { status: 403, title: 'This lies outside your token', detail, remedy: 'Sign in with a token of the tenant.' }
  const remedy = `Ask for a token with ${scopes.join(' or ')}, sign out, and sign in with it.`
  return {
    status: 403,
    title: 'Your token does not open this page',
    detail,
    remedy,
    leadsOn: mayOpen(READ_OWN_RUNS, caller),
  }
}

type ParsedQuery = { readonly ok: true; readonly value: object } | { readonly ok: false; readonly fault: ProblemProps }

/** A form also sends fields that were left empty: they count as absent. */
function parsedQuery(schema: z.ZodObject, search: URLSearchParams): ParsedQuery {
  const params: Record<string, string> = Object.create(null)
  for (const [name, value] of search) if (value !== '') params[name] = value
  const checked = schema.safeParse({ ...params })
  if (checked.success) return { ok: true, value: checked.data }
  const [issue] = checked.error.issues
  const place = issue?.path.join('.') ?? ''
  const detail = `${place === '' ? '' : `${place}: `}${issue?.message ?? 'it cannot be read'}`
  return { ok: false, fault: { status: 400, title: 'The address cannot be read', detail } }
}

/** What was typed stays, so that it can be corrected. A detail begins with the name of the parameter that is wrong. */
function withForm(c: DashboardContext, problem: ProblemProps): ProblemProps {
  if (c.req.method !== 'GET') return problem
  const wrong = /^(\w+): /.exec(problem.detail)?.[1]
  return { ...problem, children: <TypedAgain url={new URL(c.req.url)} wrong={wrong} /> }
}

/** Records reads that only an audit scope permits before they are answered, as the API does (LOG-20). */
async function recordReading(route: PageRoute, { c, deps, caller, run, noted }: View): Promise<void> {
  const { audit } = deps.ledger
  if (audit === undefined) return
  if (noted.verdict === undefined && !isAudited(route.access, caller, deps.strictAccess)) {
    if (route.access.payloads === true) audit.notePayloads(caller, run)
    return
  }
  const page = route.path.replaceAll(/\/?:\w+/g, '').replace(/^\//, '')
  const query = noted.verdict === undefined ? `page/${page}` : 'replay'
  await audit.record(caller, { ...readOf(query, run, new URL(c.req.url).searchParams), ...noted })
}

function failed(frame: Frame, error: unknown): Promise<Response> {
  const { c, deps } = frame
  if (error instanceof Refused) {
    const problem = { ...deps.explain(error.code), detail: error.message }
    return problemPage(frame, error.code === 'invalid-query' ? withForm(c, problem) : problem)
  }
  // The reader has disconnected, or has to sign in again.
  if (error instanceof ReaderLeftError) return Promise.resolve(seeOther(frame.c, SIGN_IN))
  const known = deps.explainError(error)
  if (known !== undefined) return problemPage(frame, known)
  const errorId = randomUUID()
  deps.log.error({ err: error, errorId, method: c.req.method, path: c.req.path }, 'a page failed')
  const detail = `It is in the server's log under ${errorId}.`
  return problemPage(frame, {
    status: 500,
    title: 'The server failed',
    detail,
    remedy: 'Try again; then tell its operator.',
  })
}

/** A page that navigates to another page of this site. */
function Bounce({ to }: { readonly to: string }) {
  return (
    <section class="problem">
      <meta http-equiv="refresh" content="0" />
      <h1>One moment</h1>
      <p>
        <a class="button" href={to}>
          Go on
        </a>
      </p>
    </section>
  )
}
