/** @module Checks that a form was sent from one of the dashboard's pages. The secret in the form decides; the browser's Fetch Metadata is checked as well. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { DashboardContext } from './deps.ts'

/** Checks Fetch Metadata: browsers that send it state where the request came from. */
export function isOwnSite(c: DashboardContext): boolean {
  const site = c.req.header('sec-fetch-site')
  return site === undefined || site === 'same-origin' || site === 'none'
}

export function sameSecret(value: string | undefined, expected: string): boolean {
  if (value === undefined) return false
  const [a, b] = [value, expected].map((text) => createHmac('sha256', 'csrf').update(text).digest())
  return a !== undefined && b !== undefined && timingSafeEqual(a, b)
}

/** The form secret before there is a session: derived from a cookie, which cannot be forged without the process's secret. */
export function fieldOf(cookie: string, secret: Uint8Array): string {
  return createHmac('sha256', secret).update(cookie).digest('base64url')
}
