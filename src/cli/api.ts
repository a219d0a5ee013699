/**
 * @module The single way in which commands query a ledger: over its HTTP interface, either of a running ledger (`--url`) or of an application in this process
 * over the store, which is only read. Both give the same answers.
 */
import type { JsonObject } from '../../schemas/json.ts'
import type { Loss } from '../../schemas/loss.ts'
import { SYSTEM_TENANT, Tenant } from '../../schemas/names.ts'
import { LedgerError, UnreachableError } from '../client/errors.ts'
import { createTransport, type Transport, type TransportOptions } from '../client/transport.ts'
import { openReadingLedger } from '../compose/compose-reading.ts'
import { NO_NOTES, openReader } from '../compose/compose-stores.ts'
import { createApp } from '../http/app.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Settings } from '../settings/config.ts'
import type { LedgerKeys } from '../signing/ledger-keys.ts'
import { createTokenVerifier, issueToken, publicJwks } from '../signing/tokens.ts'
import type { Position } from '../store/event-store.ts'
import { isLeaf } from '../verify/checkpoint-check.ts'
import type { Arguments } from './arguments.ts'
import { CliFailure, EXIT, type ExitCode, exitCodeOfStatus, usageFailure } from './failure.ts'
import { giveWayToOwner } from './give-way.ts'
import { sayIncomplete } from './named-losses.ts'
import { startProgress } from './progress.ts'

export type Params = Readonly<Record<string, string | number | undefined>>

export interface Api extends AsyncDisposable {
  get(path: string, params?: Params): Promise<JsonObject>
  /** `key` is the caller's own idempotency key; default: a new one. */
  post(path: string, body: object, key?: string): Promise<JsonObject>
  /** Items of all pages, at most `limit`; `member` is the member of a page that contains them. */
  items(path: string, params: Params, limit?: number, member?: string): AsyncIterable<JsonObject>
  /** The whole text of an answer that is not JSON, such as a signed note. */
  note(path: string): Promise<string>
  /** A streamed answer, chunk by chunk. */
  text(path: string, params: Params, signal: AbortSignal): AsyncIterable<string>
  /** Exit code of a command that printed its answer: 3 if an answer named losses, which are also reported on standard error. */
  exitCode(): ExitCode
}

const PAGE_ITEMS = 500
const TOKEN_SECONDS = 24 * 60 * 60
/** The longest delay of a timer, in milliseconds: no timeout, for answers without an end. */
const NO_LIMIT_MS = 2 ** 31 - 1
const RETRIES = 2
/** Enough retries to wait for a ledger that restarts. */
const ENDLESS_RETRIES = 8
const ISSUER = 'countersign'

/**
 * `endless`: answers are streams without an end. `asOf`, without `--url`: reads the store as it was at that size of the tenant's log. Throws `CliFailure` for
 * arguments that do not fit together.
 */
export async function openApi(
  { settings, text, has }: Arguments,
  { endless = false, isCounted = false, asOf }: OpenedApi = {},
): Promise<Api> {
  if (text('url') === undefined)
    return offlineApi(settings, tenantOf(text('tenant')), {
      size: asOf,
      follows: endless,
      isCounted,
      trustNothing: has('trust-nothing'),
    })
  if (has('trust-nothing')) throw usageFailure('--trust-nothing: here it reads the store itself, not --url')
  // A stream without an end sends regular heartbeats: silence for longer than the timeout of one answer means that the connection is broken.
  return remoteApi({ text }, endless ? ENDLESS_RETRIES : RETRIES)
}

/** The API of the running ledger at `--url`, for a command with the flags `--token` and `--tenant`. Throws `CliFailure` for arguments that do not fit together. */
export function remoteApi({ text }: Pick<Arguments, 'text'>, retries = RETRIES): Api {
  const url = text('url') ?? ''
  if (!URL.canParse(url) || !/^https?:/.test(url)) throw usageFailure(`--url: "${url}" is no http(s) address`)
  if (text('tenant') !== undefined) throw usageFailure('--tenant: over --url the tenant is that of the token')
  const token = text('token') ?? process.env.COUNTERSIGN_TOKEN ?? ''
  if (token === '') throw usageFailure('--url needs a token: set COUNTERSIGN_TOKEN, or give --token')
  return apiOver({ url, token, retries }, async () => undefined)
}

/** The tenant of `--tenant`. Throws `CliFailure` for an invalid name. */
export function tenantOf(inputs: string | undefined): string {
  const tenant = Tenant.safeParse(inputs ?? 'default')
  if (inputs === SYSTEM_TENANT || !tenant.success) throw usageFailure(`--tenant: "${inputs}" is no tenant`)
  return tenant.data
}

interface OpenedApi {
  readonly endless?: boolean
  readonly asOf?: number | undefined
  /** For reading the store itself: see `ReadingOptions`. */
  readonly isCounted?: boolean
}

interface Offline {
  readonly isCounted: boolean
  readonly size: number | undefined
  readonly follows: boolean
  readonly trustNothing: boolean
}

async function offlineApi(settings: Settings, tenant: string, { size, ...how }: Offline): Promise<Api> {
  giveWayToOwner(settings.store)
  let read = 0
  const progress = startProgress({ unit: 'events' })
  const onRead = (records: number): void => {
    read += records
    progress.report(read)
  }
  const asOf = size === undefined ? undefined : await leafPosition(settings, tenant, size)
  const onLeftAside = (reason: string): void => {
    progress.end()
    process.stderr.write(`countersign: ${reason}: the whole store is read instead\n`)
  }
  const opened = await openReadingLedger(settings, { onRead, asOf, onLeftAside, ...how })
  const { fetch, token } = await applicationOver(opened, tenant)
  const transport = { url: 'http://localhost', token, retries: 0, fetch, timeoutMs: NO_LIMIT_MS }
  return apiOver(
    transport,
    async () => {
      progress.end()
      await opened[Symbol.asyncDispose]()
    },
    progress.end,
  )
}

/** Position of the last event of the tenant's log at the given size. */
async function leafPosition(settings: Settings, tenant: string, size: number): Promise<Position> {
  using reader = await openReader(settings.store, NO_NOTES)
  const streams = new Set<string>()
  let leaves = 0
  for await (const page of reader.readAll({ tenant })) {
    for (const record of page) {
      if (isLeaf(record, tenant, streams)) leaves += 1
      if (leaves === size) return record.position
    }
  }
  throw new CliFailure(`the log of ${tenant} has ${leaves} events, not ${size}`, EXIT.unproven)
}

/** The size of the tenant's log in `--as-of`; undefined if the flag is not given. */
export function asOfSize({ text }: Arguments): number | undefined {
  const input = text('as-of')
  if (input === undefined) return undefined
  if (!/^[1-9]\d{0,14}$/.test(input)) throw usageFailure(`--as-of: "${input}" is no size of a log`)
  return Number(input)
}

/** With `--as-of`, a running ledger is asked for the past state of the run; without `--url`, the store is read up to that size of the log. */
export function pastOf(inputs: Arguments): {
  readonly opened: { readonly asOf?: number | undefined }
  readonly params: Params
} {
  const asOf = asOfSize(inputs)
  return inputs.text('url') === undefined ? { opened: { asOf }, params: {} } : { opened: {}, params: { asOf } }
}

/** The identity that a command uses on the store itself. */
export interface LocalCaller {
  readonly subject?: string
  readonly scopes?: readonly string[]
  readonly roles?: readonly string[] | undefined
}

const READER_SCOPES: readonly string[] = ['runs:read', 'runs:write', 'audit:read']

interface LocalApplication {
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>
  readonly token: string
  /** For a program that runs longer than a token is valid. */
  readonly newToken: () => Promise<string>
}

/** The application without a socket; `countersign serve` serves the same application over one. */
export async function applicationOver(
  { ledger, keys }: { readonly ledger: Ledger; readonly keys: LedgerKeys },
  tenant: string,
  { subject = 'local', scopes = READER_SCOPES, roles }: LocalCaller = {},
): Promise<LocalApplication> {
  const now = Date.now
  const names = { issuer: ISSUER, audience: ISSUER }
  const app = createApp({
    ledger,
    verifier: createTokenVerifier({ keys: () => keys, ...names, now }),
    jwks: () => publicJwks(keys),
    log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
    version: '',
    settings: { ratePerSecond: 0 },
  })
  const newToken = () =>
    issueToken({ keys, ...names, subject, tenant, scopes, roles, ttlSeconds: TOKEN_SECONDS, now: now() })
  return {
    token: await newToken(),
    newToken,
    fetch: async (url, init) => app.request(url.slice(url.indexOf('/', 'http://'.length)), init),
  }
}

/** `beforeOutput` clears the progress display from the terminal. */
export function apiOver(
  options: TransportOptions,
  close: () => Promise<void>,
  beforeOutput: () => void = () => undefined,
): Api {
  const transport = createTransport(options)
  let isIncomplete = false
  const get = async (path: string, params: Params = {}): Promise<JsonObject> => {
    const answer = await orFailure(() => transport.json({ method: 'GET', path: path + search(params) }))
    beforeOutput()
    const { losses, unreadable } = answer.body
    if (!isIncomplete && Array.isArray(losses)) sayIncomplete(losses as unknown as readonly Loss[])
    isIncomplete ||= losses !== undefined || (Array.isArray(unreadable) && unreadable.length > 0)
    return answer.body
  }
  return {
    get,
    exitCode: () => (isIncomplete ? EXIT.unproven : EXIT.ok),
    post: async (path, body, key) => {
      const headers = key === undefined ? {} : { 'idempotency-key': key }
      return (await orFailure(() => transport.json({ method: 'POST', path, body, headers }))).body
    },
    items: (path, params, limit, member) => items(get, { path, params, limit, member }),
    note: (path) => orFailure(() => transport.whole({ method: 'GET', path })),
    text: (path, params, signal) => streamed(transport, path + search(params), signal),
    [Symbol.asyncDispose]: close,
  }
}

interface ItemsAsk {
  readonly path: string
  readonly params: Params
  readonly limit: number | undefined
  readonly member: string | undefined
}

async function* items(
  get: Api['get'],
  { path, params, limit = Number.POSITIVE_INFINITY, member = 'items' }: ItemsAsk,
): AsyncGenerator<JsonObject, void> {
  let remaining = limit
  for (let cursor: string | undefined; remaining > 0; ) {
    const page = await get(path, { ...params, limit: Math.min(remaining, PAGE_ITEMS), cursor })
    for (const run of Array.isArray(page.unreadable) ? (page.unreadable as readonly JsonObject[]) : []) {
      process.stderr.write(`countersign: the run ${run.runId} cannot be read (${run.code}): the list is without it\n`)
    }
    const found = Array.isArray(page[member]) ? (page[member] as readonly JsonObject[]) : []
    yield* found
    remaining -= found.length
    if (typeof page.nextCursor !== 'string') return
    cursor = page.nextCursor
  }
}

/** Ends when the signal aborts, even if a chunk is still awaited. */
async function* streamed(transport: Transport, path: string, signal: AbortSignal): AsyncGenerator<string, void> {
  const stopped = new Promise<'stopped'>((resolve) => {
    signal.addEventListener('abort', () => resolve('stopped'), { once: true })
  })
  const chunks = transport.text({ method: 'GET', path, signal })[Symbol.asyncIterator]()
  try {
    while (!signal.aborted) {
      const next = await Promise.race([chunks.next(), stopped])
      if (next === 'stopped' || next.done === true) return
      yield next.value
    }
  } catch (error) {
    if (!signal.aborted) throw failureOf(error)
  }
}

function search(params: Params): string {
  const entries = Object.entries(params).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  )
  return entries.length === 0 ? '' : `?${new URLSearchParams(entries)}`
}

async function orFailure<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw failureOf(error)
  }
}

/** The ledger's refusal with its exit code: 2 for a wrong question, 3 if nothing was found, 4 for the network. */
function failureOf(error: unknown): unknown {
  if (error instanceof UnreachableError) return new CliFailure(error.message, EXIT.network, { cause: error })
  if (!(error instanceof LedgerError)) return error
  return new CliFailure(error.message, exitCodeOfStatus(error.status), { cause: error })
}
