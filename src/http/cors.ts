/** @module Which pages of other origins may ask the API from a browser: those that the operator named, each exactly. Never the dashboard. */
import { cors } from 'hono/cors'
import type { MiddlewareHandler } from 'hono/types'
import type { HttpEnv } from './http-context.ts'

/** The API and its description. The dashboard, whose sessions are cookies, and the metrics are not among them. */
export const CORS_PATHS = ['/v1/*', '/openapi.json'] as const

const MAX_AGE_SECONDS = 600
/** What requests of the API say beside a browser's own headers. */
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
/** What a program may read of an answer, beside what browsers always show. */
const EXPOSED = [
  'content-disposition',
  'etag',
  'idempotency-replayed',
  'location',
  'retry-after',
  'traceparent',
  'www-authenticate',
]

/** Callers are known by their tokens alone, so browsers are never told to send credentials of their own. */
export function corsFor(origins: readonly string[]): MiddlewareHandler<HttpEnv> {
  return cors({
    origin: [...origins],
    allowMethods: ['GET', 'HEAD', 'POST'],
    allowHeaders: ALLOWED,
    exposeHeaders: EXPOSED,
    maxAge: MAX_AGE_SECONDS,
  })
}
