/** @module Classifies errors of providers and of the network by their shape: which may be retried, and when. */
import { type Backoff, backoffMs } from '../calls/backoff.ts'
import { AgentError, RecordedFailure } from '../errors.ts'
import { memberOf, readable } from '../thrown.ts'

export const MODEL_BACKOFF: Backoff = { type: 'exponential', delayMs: 500, maxMs: 8_000, jitter: true }

/** If a provider asks for a longer wait, the call is not retried and the caller gets the error. */
const WAIT_MAX_MS = 60_000
const BUSY: ReadonlySet<number> = new Set([408, 429])
const SERVER_ERROR = 500
const CAUSES_MAX = 5
const NETWORK_CODES =
  /^(ECONNRESET|ECONNREFUSED|ECONNABORTED|EPIPE|ETIMEDOUT|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|UND_ERR_(CONNECT_TIMEOUT|HEADERS_TIMEOUT|SOCKET))$/
const NETWORK_NAMES: ReadonlySet<string> = new Set(['APIConnectionError', 'APIConnectionTimeoutError'])

type Fields = Readonly<Record<string, unknown>>

export function statusOf(error: unknown): number | undefined {
  const { status, statusCode, status_code: snake } = fieldsOf(error)
  return [status, statusCode, snake].find((each) => typeof each === 'number')
}

/** Whether the provider is busy or broken, or the connection failed. A failure from the record keeps its recorded judgement. */
export function isRetryable(error: unknown): boolean {
  if (error instanceof RecordedFailure) return fieldsOf(error.evidence).retryable === true
  const { isRetryable: declared, code } = fieldsOf(error)
  // Waiting neither refills an account nor changes a refusal by the runtime itself.
  if (code === 'insufficient_quota' || causesOf(error).some((cause) => readable(cause) instanceof AgentError))
    return false
  if (typeof declared === 'boolean') return declared
  const status = statusOf(error)
  if (status !== undefined) return BUSY.has(status) || status >= SERVER_ERROR
  return causesOf(error).some(isNetworkFault)
}

/** Milliseconds before the next attempt; undefined if there is none. `random` is from 0 up to 1. */
export function modelWaitMs(
  error: unknown,
  failures: number,
  inputs: { readonly backoff: Backoff; readonly random: number; readonly nowMs: number },
): number | undefined {
  if (!isRetryable(error)) return undefined
  const waitMs = retryAfterMs(error, inputs.nowMs) ?? 0
  if (waitMs > WAIT_MAX_MS) return undefined
  return Math.max(waitMs, backoffMs(inputs.backoff, failures, inputs.random))
}

/** `Retry-After` in seconds or as a date (RFC 9110, section 10.2.3), or `retry-after-ms` as some providers send it. */
export function retryAfterMs(error: unknown, nowMs: number): number | undefined {
  const { headers, responseHeaders } = fieldsOf(error)
  const read = (name: string): string | undefined => headerIn(headers ?? responseHeaders, name)
  const ms = Number(read('retry-after-ms') ?? Number.NaN)
  if (Number.isFinite(ms) && ms >= 0) return ms
  const text = read('retry-after')
  if (text === undefined) return undefined
  const seconds = Number(text)
  const waitMs = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(text) - nowMs
  return Number.isFinite(waitMs) && waitMs >= 0 ? waitMs : undefined
}

function headerIn(headers: unknown, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined
  const value = fieldsOf(headers)[name]
  return typeof value === 'string' ? value : undefined
}

function isNetworkFault(error: unknown): boolean {
  const { code, name, message } = fieldsOf(error)
  if (typeof code === 'string' && NETWORK_CODES.test(code)) return true
  if (typeof name === 'string' && NETWORK_NAMES.has(name)) return true
  return error instanceof TypeError && message === 'fetch failed'
}

function causesOf(error: unknown): unknown[] {
  const causes: unknown[] = []
  for (let cause = error; cause !== undefined && causes.length < CAUSES_MAX; cause = fieldsOf(cause).cause) {
    causes.push(cause)
  }
  return causes
}

/** Reading a member never throws. */
function fieldsOf(value: unknown): Fields {
  return new Proxy({}, { get: (_, name) => (typeof name === 'string' ? memberOf(value, name) : undefined) })
}
