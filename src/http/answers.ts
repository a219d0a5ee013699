/** @module Responses: JSON, problems and entity tags, with the headers that every answer carries. */
import type { Json, JsonObject } from '../../schemas/json.ts'
import type { Found } from '../ledger/ledger.ts'
import type { MemoryAccount } from '../resources/memory-budget.ts'
import type { HttpContext } from './http-context.ts'
import { etagMatches } from './parameters.ts'
import { type Problem, problemBody, retryAfterMs, statusOf } from './problems.ts'

type Headers = Readonly<Record<string, string>>

/** No answer may be cached, because each belongs to one caller, and no content type may be guessed. */
const PRIVATE = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const

export function jsonText(status: number, text: string, headers: Headers = {}): Response {
  return ofLength(
    new Response(text, { status, headers: { 'content-type': 'application/json', ...PRIVATE, ...headers } }),
    text.length,
  )
}

export function json(status: number, body: Json, headers: Headers = {}): Response {
  return jsonText(status, JSON.stringify(body), headers)
}

/** A streamed response of type `contentType`; bytes are sent as they are produced. */
export function streamed(
  body: ReadableStream<Uint8Array> | null,
  contentType: string,
  headers: Headers = {},
): Response {
  return new Response(body, { headers: { 'content-type': contentType, ...PRIVATE, ...headers } })
}

/** A revision as a strong entity tag (RFC 9110 section 8.8.3). */
export function etag(revision: number): string {
  return `"${revision}"`
}

/** A refusal as a problem response. `instance` is the path of the request. */
export function problemResponse(refused: Problem, instance: string, headers: Headers = {}): Response {
  const text = JSON.stringify(problemBody(refused, instance))
  const response = new Response(text, {
    status: statusOf(refused),
    headers: {
      'content-type': 'application/problem+json',
      ...PRIVATE,
      ...retryAfter(refused),
      ...refused.headers,
      ...headers,
    },
  })
  return ofLength(response, text.length)
}

/** Whole seconds, rounded up, so that a client that obeys never retries too early. */
function retryAfter(refused: Problem): Headers {
  const waitMs = retryAfterMs(refused)
  return waitMs === undefined ? {} : { 'retry-after': String(Math.max(1, Math.ceil(waitMs / 1000))) }
}

/** The value that was read from a run, or the refusal; 304 if the caller already has this revision. */
export function foundResponse(found: Found<JsonObject>, instance: string, ifNoneMatch?: string): Response {
  if (!found.ok) return problemResponse(found.refusal, instance)
  const tag = etag(found.revision)
  if (ifNoneMatch !== undefined && etagMatches(ifNoneMatch, tag)) {
    return new Response(null, { status: 304, headers: { etag: tag, 'cache-control': 'no-store' } })
  }
  return json(200, found.value, { etag: tag })
}

// Finished answers stay in memory until their reader has taken them; they are counted, so that readers that do not read are bounded.

/** Smaller answers fit into the buffers that every connection has. */
const COUNTED_FROM_CHARS = 4 * 1024

const chars = new WeakMap<Response, number>()

/** Remembers the length of an answer, because a `Response` does not expose it. */
export function ofLength(response: Response, length: number): Response {
  if (length >= COUNTED_FROM_CHARS) chars.set(response, length)
  return response
}

/** Counts an answer until it has been sent or its connection is closed. */
export function countUnsent(account: MemoryAccount, c: HttpContext, response: Response): void {
  const length = chars.get(response)
  const outgoing = c.env?.outgoing
  if (length === undefined || outgoing === undefined || outgoing.destroyed) return
  // Counted twice: as text and as bytes.
  outgoing.once('close', account.count(2 * length))
}
