/** @module The dashboard's cookies, which are limited to its own pages and site and not readable by scripts. */
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import type { CookieOptions } from 'hono/utils/cookie'
import type { DashboardContext } from './deps.ts'
import { ROOT } from './paths.ts'

export const SESSION_COOKIE = 'countersign_session'

/** `Secure` if the browser used TLS; behind a proxy that terminates TLS, the proxy's header says so. */
function attributes(c: DashboardContext): CookieOptions {
  const secure = new URL(c.req.url).protocol === 'https:' || c.req.header('x-forwarded-proto') === 'https'
  return { httpOnly: true, sameSite: 'Strict', path: ROOT, secure }
}

export function cookieOf(c: DashboardContext, name: string): string | undefined {
  return getCookie(c, name)
}

/** Without a maximum age, the cookie lasts until the browser is closed. */
export function giveCookie(c: DashboardContext, name: string, value: string, maxAgeSeconds?: number): void {
  setCookie(c, name, value, {
    ...attributes(c),
    ...(maxAgeSeconds === undefined ? {} : { maxAge: Math.max(0, Math.floor(maxAgeSeconds)) }),
  })
}

export function dropCookie(c: DashboardContext, name: string): void {
  deleteCookie(c, name, attributes(c))
}
