/** @module A client of the ledger's HTTP interface. It needs `fetch` and nothing of Node, so it runs in a browser as well. */

import type { AnswerTo } from '../../schemas/answers/commands.ts'
import type { ContextAnswer, RunAnswer } from '../../schemas/answers/runs.ts'
import { type Json, type JsonObject, parseJson } from '../../schemas/json.ts'
import { type BatchItem, batchItem, type Command, commandPath, runPath } from './commands.ts'
import { runsUnreadable } from './errors.ts'
import { tailEvents } from './tail-events.ts'
import { type Ask, createTransport, type TransportOptions } from './transport.ts'

/** Where the ledger is and how it is called. Times are milliseconds. */
export type ClientOptions = TransportOptions

/** How one answer is requested. */
export interface AskOptions {
  readonly signal?: AbortSignal
}

/** How one command is carried out. */
export interface CommandOptions extends AskOptions {
  /** Default: a new one for each call, the same over its retries. */
  readonly idempotencyKey?: string
  /** Expected revision of the run: 412 where it has moved on. */
  readonly ifMatch?: number
  /** W3C Trace Context: recorded with what the command records. */
  readonly traceparent?: string
  /** Seconds that a claim may be held for the outcome of the call it repeats. */
  readonly waitSeconds?: number
}

/** `created`: something new was recorded; `replayed`: the answer of an earlier request under the same key. */
export interface Recorded<Body extends JsonObject = JsonObject> {
  readonly created: boolean
  readonly replayed: boolean
  readonly body: Body
}

/** One outcome of a batch: the status and body that the command would have had alone. */
export interface BatchAnswer {
  readonly status: number
  readonly body: JsonObject
}

/** One sealed event: its signed header, its body, and its digest (`sha256:` and 64 hex digits). */
export interface EventRecord {
  readonly header: JsonObject
  readonly data: JsonObject
  readonly digest: string
  /** Whether its mac and its body's digest fit, as the ledger found. */
  readonly seal?: 'valid' | 'invalid'
}

interface Page {
  readonly items: readonly JsonObject[]
  readonly reservations: readonly JsonObject[]
  readonly nextCursor: string | null
  /** Runs that could not be looked into. */
  readonly unreadable?: readonly Json[]
}

/** Parameters of a URL; those that are undefined are left out. */
export type Query = Readonly<Record<string, string | number | undefined>>

/**
 * Every method throws `LedgerError` for a refusal, `UnreachableError` where no answer comes, the signal's reason after an abort.
 * @example
 * ```ts
 * import { createClient } from 'countersign/client'
 *
 * const client = createClient({ url: process.env.COUNTERSIGN_URL ?? '', token: process.env.COUNTERSIGN_TOKEN ?? '' })
 * const { body } = await client.execute('', { kind: 'start', body: { name: 'notes' } })
 * const runId = String(body.runId)
 * await client.execute(runId, { kind: 'envelope', body: { agent: 'writer', payload: { entities: ['Apple'] } } })
 * for await (const { header } of client.events(runId)) console.log(header.type)
 * ```
 */
export interface Client {
  readonly url: string
  /** Carries out one command; `runId` is ignored where `start` names none. */
  execute<C extends Command>(runId: string, command: C, options?: CommandOptions): Promise<Recorded<AnswerTo<C>>>
  /** At most 256 commands, in order. A refused item is an answer here, never thrown. */
  batch(items: readonly BatchItem[], options?: CommandOptions): Promise<readonly BatchAnswer[]>
  run(runId: string, options?: AskOptions): Promise<RunAnswer>
  context(runId: string, at?: Query, options?: AskOptions): Promise<ContextAnswer>
  call(runId: string, callId: string, options?: AskOptions): Promise<JsonObject>
  /** A large value of a run, by the digest in `argsRef` or `resultRef` of a call, or in `inputRef` or `outputRef` of the run. */
  value(runId: string, digest: string, options?: AskOptions): Promise<Json>
  /** Totals and limits; of its reservations the first 100: `reservations` gives all. */
  budget(runId: string, options?: AskOptions): Promise<JsonObject>
  /** Every reservation of the run, oldest first. */
  reservations(runId: string, options?: AskOptions): AsyncIterable<JsonObject>
  approval(runId: string, approvalId: string, options?: AskOptions): Promise<JsonObject>
  /** What somebody in the tenant can still decide, with the arguments of each call; decided by the commands `grant` and `deny`. Throws `runs-unreadable` behind all others, where runs cannot be read. */
  approvals(options?: AskOptions): AsyncIterable<JsonObject>
  compensations(runId: string, options?: AskOptions): Promise<readonly JsonObject[]>
  /** Each fork with its branches, oldest first. */
  forks(runId: string, options?: AskOptions): Promise<readonly JsonObject[]>
  /** All items, page after page. */
  calls(runId: string, options?: AskOptions): AsyncIterable<JsonObject>
  /** Calls without an outcome, of all runs that the token may read: those that run, and those in doubt; with `equalTo`, that open call and those with its tool and arguments. Throws `runs-unreadable` behind all others, where runs cannot be read. */
  openCalls(options?: AskOptions & { readonly equalTo?: string }): AsyncIterable<JsonObject>
  envelopes(runId: string, options?: AskOptions): AsyncIterable<JsonObject>
  events(runId: string, filter?: Query, options?: AskOptions): AsyncIterable<EventRecord>
  runs(filter?: Query, options?: AskOptions): AsyncIterable<JsonObject>
  /** Events of a run, or of all that the token may read: those there are, then those that come. Ends with the signal, or when its reader leaves. */
  tail(runId?: string, options?: AskOptions): AsyncIterable<EventRecord>
  /** The JSONL export of a run, in portions of text. */
  exportRun(runId: string, options?: AskOptions): AsyncIterable<string>
}

const PAGE_ITEMS = 500

/**
 * A client of one ledger. It needs `fetch` and nothing of Node. Requests are retried with backoff under one idempotency key; nothing is requested until a method
 * is called.
 * @example
 * ```ts
 * import { createClient } from 'countersign/client'
 *
 * const client = createClient({ url: process.env.COUNTERSIGN_URL ?? '', token: process.env.COUNTERSIGN_TOKEN ?? '' })
 * const { created, body } = await client.execute('', { kind: 'start', body: { name: 'hello' } })
 * console.log(created, body.status)
 * ```
 */
export function createClient(options: ClientOptions): Client {
  const transport = createTransport(options)

  // What the ledger answers is what its description at /openapi.json says: the types are of the same schemas.
  const get = async <Body extends JsonObject>(path: string, query: Query, { signal }: AskOptions): Promise<Body> =>
    (await transport.json({ method: 'GET', path: path + search(query), signal })).body as Body

  const pages = (path: string, query: Query, options: AskOptions, member?: 'reservations') =>
    pagesOf(get, { path, query, member }, options)

  return {
    url: transport.url,
    execute: async <C extends Command>(runId: string, command: C, options: CommandOptions = {}) => {
      const answer = await transport.json(post(commandPath(runId, command), command.body, options))
      return {
        created: answer.status === 201,
        replayed: answer.headers.get('idempotency-replayed') === 'true',
        body: answer.body as AnswerTo<C>,
      }
    },
    batch: async (items, options = {}) => {
      const answer = await transport.json(post('/v1/batch', { items: items.map(batchItem) }, options))
      return answer.body.items as unknown as readonly BatchAnswer[]
    },
    run: (runId, options = {}) => get(runPath(runId), {}, options),
    context: (runId, at = {}, options = {}) => get(`${runPath(runId)}/context`, at, options),
    call: (runId, callId, options = {}) => get(`${runPath(runId)}/calls/${encodeURIComponent(callId)}`, {}, options),
    value: async (runId, digest, { signal } = {}) => {
      const path = `${runPath(runId)}/values/${encodeURIComponent(digest)}`
      return parseJson(await transport.whole({ method: 'GET', path, signal }))
    },
    budget: (runId, options = {}) => get(`${runPath(runId)}/budget`, {}, options),
    reservations: (runId, options = {}) => pages(`${runPath(runId)}/budget`, {}, options, 'reservations'),
    approval: (runId, approvalId, options = {}) =>
      get(`${runPath(runId)}/approvals/${encodeURIComponent(approvalId)}`, {}, options),
    approvals: (options = {}) => pages('/v1/approvals', {}, options),
    compensations: async (runId, options = {}) =>
      (await get(`${runPath(runId)}/compensations`, {}, options)).items as readonly JsonObject[],
    forks: async (runId, options = {}) => {
      const forks: JsonObject[] = []
      for await (const fork of pages(`${runPath(runId)}/forks`, {}, options)) forks.push(fork)
      return forks
    },
    calls: (runId, options = {}) => pages(`${runPath(runId)}/calls`, {}, options),
    openCalls: ({ equalTo, ...options } = {}) => pages('/v1/calls', { equalTo }, options),
    envelopes: (runId, options = {}) => pages(`${runPath(runId)}/envelopes`, {}, options),
    events: (runId, filter = {}, options = {}) =>
      pages(`${runPath(runId)}/events`, filter, options) as AsyncIterable<Json> as AsyncIterable<EventRecord>,
    runs: (filter = {}, options = {}) => pages('/v1/runs', filter, options),
    tail: (runId, { signal } = {}) =>
      tailEvents(
        transport,
        runId === undefined ? '/v1/tail' : `${runPath(runId)}/tail`,
        signal,
      ) as AsyncIterable<Json> as AsyncIterable<EventRecord>,
    exportRun: (runId, { signal } = {}) => transport.text({ method: 'GET', path: `${runPath(runId)}/export`, signal }),
  }
}

type Get = (path: string, query: Query, options: AskOptions) => Promise<JsonObject>

interface Listing {
  readonly path: string
  readonly query: Query
  /** Where a page has what is listed. */
  readonly member: 'reservations' | undefined
}

async function* pagesOf(
  get: Get,
  { path, query, member }: Listing,
  options: AskOptions,
): AsyncGenerator<JsonObject, void> {
  let cursor: string | undefined
  const unreadable: Json[] = []
  do {
    const page = (await get(path, { limit: PAGE_ITEMS, ...query, cursor }, options)) as unknown as Page
    yield* page[member ?? 'items']
    unreadable.push(...(page.unreadable ?? []))
    cursor = page.nextCursor ?? undefined
  } while (cursor !== undefined)
  if (unreadable.length > 0) throw runsUnreadable(unreadable)
}

function post(path: string, body: object, options: CommandOptions): Ask {
  const { idempotencyKey, ifMatch, traceparent, waitSeconds, signal } = options
  const headers = {
    ...(traceparent !== undefined && { traceparent }),
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    ...(ifMatch !== undefined && { 'if-match': `"${ifMatch}"` }),
    ...(waitSeconds !== undefined && { prefer: `wait=${waitSeconds}` }),
  }
  return { method: 'POST', path, body, headers, signal }
}

function search(query: Query): string {
  const inputs = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]))
  return inputs.length === 0 ? '' : `?${new URLSearchParams(inputs)}`
}
