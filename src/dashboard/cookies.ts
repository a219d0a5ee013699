/** @module The dashboard's cookies: for its own pages, its own site, and no script. */
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import type { CookieOptions } from 'hono/utils/cookie'
import type { DashboardContext } from './deps.ts'
import { ROOT } from './paths.ts'

export const SESSION_COOKIE = 'countersign_session'

/** `Secure` wherever the browser came by TLS; behind a proxy that ends TLS, the proxy says so. */
function attributes(c: DashboardContext): CookieOptions {
  const secure = new URL(c.req.url).protocol === 'https:' || c.req.header('x-forwarded-proto') === 'https'
  return { httpOnly: true, sameSite: 'Strict', path: ROOT, secure }
}

export function cookieOf(c: DashboardContext, name: string): string | undefined {
  return getCookie(c, name)
}

/** Without an age: gone with the browser. */
export function giveCookie(c: DashboardContext, name: string, value: string, maxAgeSeconds?: number): void {
  setCookie(c, name, value, {
    ...attributes(c),
    ...(maxAgeSeconds === undefined ? {} : { maxAge: Math.max(0, Math.floor(maxAgeSeconds)) }),
  })
}

export function dropCookie(c: DashboardContext, name: string): void {
  deleteCookie(c, name, attributes(c))
}
