/** @module Signing in and out. The token is sent once, in the body of a form, and is neither displayed nor logged. */
import { randomBytes } from 'node:crypto'
import type { Principal } from '../../signing/tokens.ts'
import { pageResponse, problemPage, seeOther, THEME_COOKIE } from '../answer.tsx'
import { cookieOf, dropCookie, giveCookie, SESSION_COOKIE } from '../cookies.ts'
import { fieldOf, isOwnSite, sameSecret } from '../csrf.ts'
import type { DashboardContext, DashboardDeps } from '../deps.ts'
import { readForm } from '../form.ts'
import { type Guard, signedIn } from '../guard.tsx'
import { SIGN_IN, safeNext } from '../paths.ts'

const SIGN_IN_COOKIE = 'countersign_sign_in'
const YEAR_SECONDS = 365 * 24 * 60 * 60

interface FormProps {
  readonly csrf: string
  readonly next: string
  readonly fault?: string | undefined
}

function SignInForm({ csrf, next, fault }: FormProps) {
  return (
    <section class="sign-in">
      <h1>Sign in</h1>
      <p class="muted">With an access token of this ledger. The session ends when the token does.</p>
      {fault !== undefined && (
        <p class="notice notice-bad" role="alert">
          {fault}
        </p>
      )}
      <form method="post" action={SIGN_IN}>
        <input type="hidden" name="csrf" value={csrf} />
        <input type="hidden" name="next" value={next} />
        <label for="token">Access token</label>
        <input
          id="token"
          name="token"
          type="password"
          required
          autocomplete="off"
          spellcheck={false}
          aria-describedby="token-help"
        />
        <p id="token-help" class="help">
          <code>countersign token --scope "runs:read audit:read audit:export"</code> prints one that lives for an hour.
        </p>
        <button type="submit" class="button primary">
          Sign in
        </button>
      </form>
    </section>
  )
}

export interface SignInDeps extends Guard {
  /** Secret of this process, which authenticates its own forms before there is a session. */
  readonly secret: Uint8Array
}

export function showSignIn(inputs: SignInDeps): (c: DashboardContext) => Promise<Response> {
  return (c) => form(inputs, c, { next: safeNext(c.req.query('next')) })
}

interface FormState {
  readonly next: string
  readonly fault?: string
  readonly status?: number
}

function form(
  { deps, secret }: SignInDeps,
  c: DashboardContext,
  { next, fault, status }: FormState,
): Promise<Response> {
  const cookie = cookieOf(c, SIGN_IN_COOKIE) ?? randomBytes(32).toString('base64url')
  giveCookie(c, SIGN_IN_COOKIE, cookie)
  const body = <SignInForm csrf={fieldOf(cookie, secret)} next={next} fault={fault} />
  return pageResponse({ c, deps }, { title: 'Sign in', body, ...(status !== undefined && { status }) })
}

const NOT_OURS = 'That form was not sent from here, or it was too old. Please try again.'
const REFUSED = 'This token is not valid here: it may have expired, or be meant for another ledger.'

export function signIn(inputs: SignInDeps): (c: DashboardContext) => Promise<Response> {
  const { deps, sessions, secret } = inputs
  return async (c) => {
    const posted = await readForm(c)
    const next = safeNext(posted?.get('next'))
    const cookie = cookieOf(c, SIGN_IN_COOKIE)
    const ours = cookie !== undefined && sameSecret(posted?.get('csrf'), fieldOf(cookie, secret))
    if (!ours || !isOwnSite(c)) return form(inputs, c, { next, fault: NOT_OURS, status: 403 })

    const token = (posted?.get('token') ?? '').trim().replace(/^Bearer +/i, '')
    const result = await deps.verifier.verify(token)
    if (!result.ok || result.claims.expiresAt <= deps.now()) return refused(inputs, c, { next, ...result })

    if (!(await recordSignIn(deps, result.claims))) return form(inputs, c, { next, fault: NOT_RECORDED, status: 503 })
    const old = sessions.find(cookieOf(c, SESSION_COOKIE))
    if (old !== undefined) sessions.end(old)
    const { expiresAt } = result.claims
    giveCookie(c, SESSION_COOKIE, sessions.create(token, result.claims), (expiresAt - deps.now()) / 1000)
    dropCookie(c, SIGN_IN_COOKIE)
    return seeOther(c, next)
  }
}

const NOT_RECORDED = 'A sign-in is recorded first, and the store accepts no record now. Please try again later.'

/** Records the sign-in in the access record (LOG-31). If that fails, the reader is let in anyway to look for the cause, unless every read must be recorded. */
async function recordSignIn({ ledger, log, strictAccess }: DashboardDeps, caller: Principal): Promise<boolean> {
  try {
    await ledger.audit?.record(caller, { query: 'sign-in' })
    return true
  } catch (error) {
    log.error({ err: error, tenant: caller.tenant }, 'a sign-in could not be recorded')
    return !strictAccess
  }
}

/** Each refusal counts against the address; beyond its limit, the answer states only when to retry. */
function refused(
  inputs: SignInDeps,
  c: DashboardContext,
  { next, code }: { readonly next: string; readonly code?: string },
): Promise<Response> {
  const { deps } = inputs
  const remote = deps.remoteAddress(c)
  deps.log.info({ fault: code ?? 'token-expired', remote }, 'a sign-in was refused')
  const waitMs = deps.rates.refusedToken(remote)
  if (waitMs === 0) return form(inputs, c, { next, fault: REFUSED, status: 401 })
  c.header('retry-after', String(Math.ceil(waitMs / 1000)))
  const detail = `Try again in ${Math.ceil(waitMs / 1000)} s.`
  return problemPage({ c, deps }, { status: 429, title: 'Too many refused sign-ins', detail })
}

/** Ends the session on the server: a copy of the cookie is then worthless. */
export function signOut({ deps, sessions }: SignInDeps): (c: DashboardContext) => Promise<Response> {
  return async (c) => {
    const known = await signedIn(c, deps, sessions)
    if (known === undefined) return seeOther(c, SIGN_IN)
    const posted = await readForm(c)
    if (!isOwnSite(c) || !sameSecret(posted?.get('csrf'), known.session.csrf)) {
      const detail = 'The form carries another secret than this session, or none.'
      return problemPage({ c, deps }, { status: 403, title: 'This form was not sent from here', detail })
    }
    sessions.end(known.session)
    dropCookie(c, SESSION_COOKIE)
    return seeOther(c, SIGN_IN)
  }
}

const THEMES: ReadonlySet<string> = new Set(['auto', 'light', 'dark'])

export function chooseTheme({ deps, sessions }: SignInDeps): (c: DashboardContext) => Promise<Response> {
  return async (c) => {
    const known = await signedIn(c, deps, sessions)
    const posted = await readForm(c)
    const ours = known !== undefined && isOwnSite(c) && sameSecret(posted?.get('csrf'), known.session.csrf)
    const theme = posted?.get('theme') ?? ''
    if (ours && THEMES.has(theme)) giveCookie(c, THEME_COOKIE, theme, YEAR_SECONDS)
    return seeOther(c, safeNext(posted?.get('next')))
  }
}
