/** @module Whether a form was sent from a page of ours. The secret in it decides; the browser's Fetch Metadata is checked as well. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { DashboardContext } from './deps.ts'

/** Fetch Metadata: browsers that send it tell where the request came from. */
export function isOwnSite(c: DashboardContext): boolean {
  const site = c.req.header('sec-fetch-site')
  return site === undefined || site === 'same-origin' || site === 'none'
}

export function sameSecret(value: string | undefined, expected: string): boolean {
  if (value === undefined) return false
  const [a, b] = [value, expected].map((text) => createHmac('sha256', 'csrf').update(text).digest())
  return a !== undefined && b !== undefined && timingSafeEqual(a, b)
}

/** Before there is a session: the field that belongs to a cookie, which nobody makes without the process's secret. */
export function fieldOf(cookie: string, secret: Uint8Array): string {
  return createHmac('sha256', secret).update(cookie).digest('base64url')
}
