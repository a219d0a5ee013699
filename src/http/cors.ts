/** @module CORS: pages of exactly those origins that the operator named may call the API from a browser; the dashboard is never included. */
import { cors } from 'hono/cors'
import type { MiddlewareHandler } from 'hono/types'
import type { HttpEnv } from './http-context.ts'

/** The API and its description. The dashboard, whose sessions are cookies, and the metrics are excluded. */
export const CORS_PATHS = ['/v1/*', '/openapi.json'] as const

const MAX_AGE_SECONDS = 600
/** Request headers of the API that browsers do not send on their own. */
const ALLOWED = [
  'authorization',
  'content-type',
  'idempotency-key',
  'if-match',
  'if-none-match',
  'last-event-id',
  'prefer',
  'traceparent',
]
/** Response headers that a page may read, in addition to those that browsers always expose. */
const EXPOSED = [
  'content-disposition',
  'etag',
  'idempotency-replayed',
  'location',
  'retry-after',
  'traceparent',
  'www-authenticate',
]

/** Callers are identified by bearer tokens alone, so browsers are never told to send credentials. */
export function corsFor(origins: readonly string[]): MiddlewareHandler<HttpEnv> {
  return cors({
    origin: [...origins],
    allowMethods: ['GET', 'HEAD', 'POST'],
    allowHeaders: ALLOWED,
    exposeHeaders: EXPOSED,
    maxAge: MAX_AGE_SECONDS,
  })
}
