/** @module Requests that survive a bad network: retried with backoff and jitter, each under one idempotency key, until the caller aborts. */
import type { Json, JsonObject } from '../../schemas/json.ts'
import { LedgerError, UnreachableError } from './errors.ts'

export interface TransportOptions {
  /** Where the ledger listens, such as `http://127.0.0.1:7070`. */
  readonly url: string
  /** Bearer token, or what gives a fresh one. */
  readonly token: string | (() => string | Promise<string>)
  /** Default: the global one. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
  /** Tries after the first; default 5. */
  readonly retries?: number
  /** Longest wait for one answer; default 60 seconds. */
  readonly timeoutMs?: number
  /** Wait before the first retry, doubled for each further one; default 100. */
  readonly backoffMs?: number
}

export interface Ask {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
}

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: JsonObject
}

export interface Transport {
  readonly url: string
  /** A JSON answer. Throws `LedgerError`, `UnreachableError`, or the reason of the abort. */
  json(ask: Ask): Promise<Answer>
  /** The text of an answer as it comes. */
  text(ask: Ask): AsyncIterable<string>
}

const RETRIES = 5
const TIMEOUT_MS = 60_000
const BACKOFF_MS = 100
const BACKOFF_MAX_MS = 5_000
/** Told to wait longer than this, the caller decides. */
const WAIT_MAX_MS = 10_000
const RETRIED_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504])

export function createTransport(options: TransportOptions): Transport {
  const url = options.url.replace(/\/+$/, '')
  return {
    url,
    json: async (ask) => {
      const response = await send(options, url, ask)
      return { status: response.status, headers: response.headers, body: await bodyOf(response) }
    },
    text: (ask) => textOf(options, url, ask),
  }
}

async function* textOf(options: TransportOptions, url: string, ask: Ask): AsyncGenerator<string, void> {
  const response = await send(options, url, ask)
  const decoder = new TextDecoder()
  const reader = response.body?.getReader()
  for (;;) {
    const read = await reader?.read()
    if (read === undefined || read.done) break
    yield decoder.decode(read.value, { stream: true })
  }
  yield decoder.decode()
}

/** A 2xx response; everything else is an error or tried again. */
async function send(options: TransportOptions, url: string, ask: Ask): Promise<Response> {
  const { retries = RETRIES, backoffMs = BACKOFF_MS } = options
  const idempotency = ask.method === 'POST' ? { 'idempotency-key': globalThis.crypto.randomUUID() } : {}
  const headers = { ...idempotency, ...ask.headers }
  for (let tries = 0; ; tries += 1) {
    ask.signal?.throwIfAborted()
    const failure = await attempt(options, url, { ...ask, headers })
    if (failure instanceof Response) return failure
    if (tries >= retries || !isRetried(failure)) throw failure
    const jitterMs = Math.min(BACKOFF_MAX_MS, backoffMs * 2 ** tries) * (0.5 + Math.random() / 2)
    await pause(Math.max(jitterMs, waitOf(failure)), ask.signal)
  }
}

async function attempt(
  options: TransportOptions,
  url: string,
  ask: Ask,
): Promise<Response | LedgerError | UnreachableError> {
  const { token, fetch = globalThis.fetch, timeoutMs = TIMEOUT_MS } = options
  const bearer = typeof token === 'string' ? token : await token()
  const limit = AbortSignal.timeout(timeoutMs)
  const signal = ask.signal === undefined ? limit : AbortSignal.any([ask.signal, limit])
  const content = ask.body === undefined ? {} : { 'content-type': 'application/json' }
  try {
    const response = await fetch(url + ask.path, {
      method: ask.method,
      headers: { authorization: `Bearer ${bearer}`, ...content, ...ask.headers },
      ...(ask.body !== undefined && { body: JSON.stringify(ask.body) }),
      redirect: 'error',
      signal,
    })
    return response.ok ? response : new LedgerError(response.status, await problemOf(response))
  } catch (error) {
    if (ask.signal?.aborted === true) throw ask.signal.reason
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error)
    return new UnreachableError(`the ledger at ${url} cannot be reached: ${cause}`, { cause: error })
  }
}

function isRetried(failure: LedgerError | UnreachableError): boolean {
  if (failure instanceof UnreachableError) return true
  if (failure.code === 'idempotency-in-flight') return true
  return RETRIED_STATUSES.has(failure.status) && waitOf(failure) <= WAIT_MAX_MS
}

function waitOf(failure: LedgerError | UnreachableError): number {
  return failure instanceof LedgerError ? (failure.retryAfterMs ?? 0) : 0
}

async function bodyOf(response: Response): Promise<JsonObject> {
  try {
    const value = (await response.json()) as Json
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject
  } catch {
    // A proxy's page, or a cut answer.
  }
  throw new UnreachableError(`${response.url} does not answer as a ledger does (status ${response.status})`)
}

async function problemOf(response: Response): Promise<JsonObject> {
  const problem = await bodyOf(response).catch((): JsonObject => ({}))
  const seconds = Number(response.headers.get('retry-after'))
  return problem.retryAfterMs === undefined && seconds > 0 ? { ...problem, retryAfterMs: seconds * 1_000 } : problem
}

/** Resolves after `ms`; rejects with the signal's reason. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted()
  if (ms <= 0) return
  await new Promise<void>((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal?.addEventListener('abort', stop, { once: true })
  })
}
