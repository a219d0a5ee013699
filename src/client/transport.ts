/** @module Sends requests over an unreliable network: retried with backoff and jitter, each under one idempotency key, until the caller aborts. */

import { type JsonObject, parseJson } from '../../schemas/json.ts'
import { LedgerError, UnreachableError } from './errors.ts'
import { beginExchange, type Exchange } from './exchange.ts'

/** The part of a `Response` that is used. */
export type FetchAnswer = Pick<Response, 'ok' | 'status' | 'url' | 'body' | 'text'> & {
  readonly headers: Pick<Headers, 'get'>
}

export interface TransportOptions {
  /** URL of the ledger, such as `http://127.0.0.1:7070`. */
  readonly url: string
  /**
   * Bearer token, or a function that returns a fresh one, called before each attempt. If it throws, gives no token, does not answer within half of `patienceMs`
   * (or `timeoutMs`), or gives a token that is refused with 401, it is asked again for as long as an unreachable ledger is.
   */
  readonly token: string | (() => string | Promise<string>)
  /** Default: the global `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<FetchAnswer>
  /** Number of retries. Default: as many as fit into `patienceMs`, but at least 5. */
  readonly retries?: number
  /** Milliseconds for which requests to an unreachable or unready ledger are retried, long enough for its restart. Default 30 seconds. */
  readonly patienceMs?: number
  /** Timeout in milliseconds for one answer, or for the next part of a stream; default 60 seconds. */
  readonly timeoutMs?: number
  /** Delay before the first retry in milliseconds, doubled for each further one; default 100. */
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
  readonly headers: FetchAnswer['headers']
  readonly body: JsonObject
}

export interface Transport {
  readonly url: string
  /** Requests a JSON answer. Throws `LedgerError`, `UnreachableError`, or the abort reason. */
  json(ask: Ask): Promise<Answer>
  /** Requests the whole text of an answer; a truncated answer is requested again, even across a restart of the server. Throws the same errors. */
  whole(ask: Ask): Promise<string>
  /** Requests an answer as a stream of text. Throws the same errors; the connection is released if the reader stops. */
  text(ask: Ask): AsyncIterable<string>
}

const RETRIES = 5
/** Number of retries if the token function gave no token: one that hangs may take half of the patience each time. */
const TOKEN_RETRIES = 1
const PATIENCE_MS = 30_000
const TIMEOUT_MS = 60_000
/** Least time that a token function gets, however short the patience. */
const TOKEN_LEAST_MS = 1_000
const UNAUTHENTICATED = 401
const BACKOFF_MS = 100
const BACKOFF_MAX_MS = 5_000
/** Longest wait that a request makes for the ledger; longer ones are left to the caller. */
const WAIT_MAX_MS = 10_000
const RETRIED_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504])

export function createTransport(options: TransportOptions): Transport {
  const url = options.url.replace(/\/+$/, '')
  return {
    url,
    json: (ask) => send(options, url, ask, answerOf),
    whole: (ask) => wholeTextOf(options, url, ask),
    text: (ask) => textOf(options, url, ask),
  }
}

/** Processes a 2xx response. It takes over the exchange and must end it. */
type Take<T> = (response: FetchAnswer, exchange: Exchange) => Promise<T>

/** The whole text of an answer. The request is not repeated here if nothing was received, because `send` has already retried. */
async function wholeTextOf(options: TransportOptions, url: string, ask: Ask): Promise<string> {
  const { retries = RETRIES } = options
  for (let tries = 0; ; tries += 1) {
    let text = ''
    try {
      for await (const part of textOf(options, url, ask)) text += part
      return text
    } catch (error) {
      if (!(error instanceof UnreachableError) || text === '' || tries >= retries) throw error
    }
  }
}

/** An answer as a stream of text. Releases the connection if the reader stops. */
async function* textOf(options: TransportOptions, url: string, ask: Ask): AsyncGenerator<string, void> {
  const { body, exchange } = await send(options, url, ask, async (response, opened) => ({
    body: response.body,
    exchange: opened,
  }))
  const decoder = new TextDecoder()
  const reader = body?.getReader()
  let isOver = reader === undefined
  const next = async (): Promise<Uint8Array | undefined> => {
    try {
      const read = await exchange.within(async () => reader?.read())
      isOver = read === undefined || read.done
      return read?.value
    } catch (error) {
      throw failureOf(error, { url, ask, what: 'broke off' })
    }
  }
  try {
    for (let part = await next(); part !== undefined; part = await next()) yield decoder.decode(part, { stream: true })
    yield decoder.decode()
  } finally {
    exchange.end()
    if (!isOver) await reader?.cancel().catch(() => undefined)
  }
}

/** Processes a 2xx response; any other response, or a truncated one, is retried or becomes an error. */
async function send<T>(options: TransportOptions, url: string, ask: Ask, take: Take<T>): Promise<T> {
  requireOwnPath(ask.path)
  const { backoffMs = BACKOFF_MS } = options
  const askedAtMs = performance.now()
  const idempotency = ask.method === 'POST' ? { 'idempotency-key': globalThis.crypto.randomUUID() } : {}
  const headers = withQuotedKey({ ...idempotency, ...ask.headers })
  for (let tries = 0; ; tries += 1) {
    ask.signal?.throwIfAborted()
    const attempted = await attempt(options, url, { ...ask, headers }, take)
    if ('value' in attempted) return attempted.value
    const { failure } = attempted
    const isPassing = isRetried(failure) || mayGetBetterToken(options, failure)
    const atLeast = failure instanceof NoToken ? TOKEN_RETRIES : RETRIES
    if (!isPassing || isPatienceOver(options, { tries, atLeast, goneMs: performance.now() - askedAtMs })) throw failure
    const jitterMs = Math.min(BACKOFF_MAX_MS, backoffMs * 2 ** tries) * (0.5 + Math.random() / 2)
    await pause(Math.max(jitterMs, waitOf(failure)), ask.signal)
  }
}

/** Throws for ids that would change the path: a URL drops the segments `.`, `..` and empty ones. */
function requireOwnPath(path: string): void {
  const segments = path.replace(/\?.*$/s, '').split('/').slice(1)
  const lost = segments.find((segment) => /^\.{0,2}$/.test(segment))
  if (lost !== undefined) throw new TypeError(`"${lost}" is no id: in ${path} it would lead to something else`)
}

function isPatienceOver(
  { retries, patienceMs = PATIENCE_MS }: TransportOptions,
  { tries, atLeast, goneMs }: { readonly tries: number; readonly atLeast: number; readonly goneMs: number },
): boolean {
  return tries >= (retries ?? atLeast) && (retries !== undefined || goneMs >= patienceMs)
}

/** Whether another call of the token function may help: its token may have been expired, or not yet known. */
function mayGetBetterToken({ token }: TransportOptions, failure: LedgerError | UnreachableError): boolean {
  return typeof token === 'function' && failure instanceof LedgerError && failure.status === UNAUTHENTICATED
}

/** Quotes an idempotency key with a comma, which would be mistaken for the separator of two header values. */
function withQuotedKey(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const key = headers['idempotency-key']
  if (key === undefined || !key.includes(',') || key.startsWith('"')) return headers
  return { ...headers, 'idempotency-key': `"${key.replaceAll(/["\\]/g, '\\$&')}"` }
}

/** The entity tag of an answer: the revision of the run's event that the answer is about. */
function revisionOf({ headers }: FetchAnswer): number | undefined {
  const [, digits] = /^"(\d{1,15})"$/.exec(headers.get('etag') ?? '') ?? []
  return digits === undefined ? undefined : Number(digits)
}

type Attempted<T> = { readonly value: T } | { readonly failure: LedgerError | UnreachableError }

async function attempt<T>(options: TransportOptions, url: string, ask: Ask, take: Take<T>): Promise<Attempted<T>> {
  const { fetch = globalThis.fetch, timeoutMs = TIMEOUT_MS } = options
  const bearer = await tokenFor(options, url, ask.signal)
  if (bearer instanceof NoToken) return { failure: bearer }
  const content = ask.body === undefined ? {} : { 'content-type': 'application/json' }
  const exchange = beginExchange(timeoutMs, ask.signal)
  try {
    return await exchange.within(async () => {
      const response = await fetch(url + ask.path, {
        method: ask.method,
        headers: { authorization: `Bearer ${bearer}`, ...content, ...ask.headers },
        ...(ask.body !== undefined && { body: JSON.stringify(ask.body) }),
        redirect: 'error',
        signal: exchange.signal,
      })
      if (response.ok) return { value: await take(response, exchange) }
      const failure = new LedgerError(response.status, await problemOf(response), revisionOf(response))
      exchange.end()
      return { failure }
    })
  } catch (error) {
    exchange.end()
    if (error instanceof NotALedger) throw error
    return { failure: failureOf(error, { url, ask, what: 'cannot be reached' }) }
  }
}

/** The failure if the token function gave no token, so that nothing was sent. */
class NoToken extends UnreachableError {}

/** The token for one request. Throws the abort reason if the caller aborted. */
async function tokenFor(options: TransportOptions, url: string, signal?: AbortSignal): Promise<string | NoToken> {
  const { token, patienceMs = PATIENCE_MS, timeoutMs = TIMEOUT_MS } = options
  if (typeof token === 'string') return token
  const limitMs = Math.min(timeoutMs, Math.max(TOKEN_LEAST_MS, patienceMs / 2))
  const exchange = beginExchange(limitMs, signal)
  const none = (why: string, cause?: unknown): NoToken =>
    new NoToken(`nothing was sent to the ledger at ${url}: the token function ${why}`, { cause })
  try {
    const given: unknown = await exchange.within(async () => token())
    return typeof given === 'string' && /^[\x21-\x7e]+$/.test(given) ? given : none('gave no token (visible ASCII)')
  } catch (error) {
    if (signal?.aborted === true) throw signal.reason
    if (exchange.signal.aborted) return none(`did not answer within ${limitMs} ms`, error)
    return none(`failed: ${error instanceof Error ? error.message : String(error)}`, error)
  } finally {
    exchange.end()
  }
}

/** Throws the abort reason if the caller aborted. */
function failureOf(
  error: unknown,
  at: { readonly url: string; readonly ask: Ask; readonly what: string },
): UnreachableError {
  const { url, ask, what } = at
  if (ask.signal?.aborted === true) throw ask.signal.reason
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error)
  return new UnreachableError(`the ledger at ${url} ${what}: ${cause}`, { cause: error })
}

function isRetried(failure: LedgerError | UnreachableError): boolean {
  if (failure instanceof UnreachableError) return true
  if (failure.code === 'idempotency-in-flight') return true
  return RETRIED_STATUSES.has(failure.status) && waitOf(failure) <= WAIT_MAX_MS
}

function waitOf(failure: LedgerError | UnreachableError): number {
  return failure instanceof LedgerError ? (failure.retryAfterMs ?? 0) : 0
}

async function answerOf(response: FetchAnswer, exchange: Exchange): Promise<Answer> {
  const body = objectIn(await response.text())
  exchange.end()
  const { status, headers } = response
  if (body === undefined) throw new NotALedger(`${response.url} does not answer as a ledger does (status ${status})`)
  return { status, headers, body }
}

/** A complete answer that is not a ledger's, such as a proxy's error page, which a retry would not change. */
class NotALedger extends UnreachableError {}

function objectIn(text: string): JsonObject | undefined {
  try {
    const value = parseJson(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined
  } catch {
    return undefined
  }
}

async function problemOf(response: FetchAnswer): Promise<JsonObject> {
  const problem = objectIn(await response.text().catch(() => '')) ?? {}
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
