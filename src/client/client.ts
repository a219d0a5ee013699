/** @module A client of the ledger's HTTP interface. It needs only `fetch`, so it runs in Node and in browsers. */

import type { AnswerTo } from '../../schemas/answers/commands.ts'
import type { ContextAnswer, RunAnswer } from '../../schemas/answers/runs.ts'
import { type Json, type JsonObject, parseJson } from '../../schemas/json.ts'
import { type BatchItem, batchItem, type Command, commandPath, pathSegment, runPath } from './commands.ts'
import { runsUnreadable } from './errors.ts'
import { tailEvents } from './tail-events.ts'
import { type Ask, createTransport, type TransportOptions } from './transport.ts'

/** Address and token of the ledger, and limits of its requests. Times are in milliseconds. */
export type ClientOptions = TransportOptions

/** Options of one read request. */
export interface AskOptions {
  readonly signal?: AbortSignal
}

/** Options of one command. */
export interface CommandOptions extends AskOptions {
  /** Default: a new key for each call; its retries use the same key. */
  readonly idempotencyKey?: string
  /** Expected revision of the run: the ledger answers 412 if the run has changed since. */
  readonly ifMatch?: number
  /** W3C Trace Context, recorded with the events of the command. */
  readonly traceparent?: string
  /** Maximum number of seconds that a claim waits for the outcome of the call that it repeats. */
  readonly waitSeconds?: number
}

/**
 * Names of runs, and versions of code, that a worker can execute. Runs that no worker with a version has taken are always listed; without `versions`, those of
 * every version are as well.
 */
export interface DueQuery {
  readonly names: readonly string[]
  readonly versions?: readonly string[]
  /** Limit for the tenant: nothing is listed while its workers execute this many runs. */
  readonly perTenant?: number
  /** Number of runs in a page; at most 500. */
  readonly limit: number
  /** The `nextCursor` of another page for the same names and versions; only runs after that page are listed. */
  readonly cursor?: string
}

/** Runs that a worker may resume. If `nextCursor` is set, the page is full, and more runs may follow. */
export interface DuePage {
  readonly items: readonly JsonObject[]
  readonly nextCursor?: string
}

/** The answer to a command. `created`: something new was recorded; `replayed`: this is the answer to an earlier request with the same idempotency key. */
export interface Recorded<Body extends JsonObject = JsonObject> {
  readonly created: boolean
  readonly replayed: boolean
  readonly body: Body
}

/** One answer of a batch: the status and body that the command would have received alone. */
export interface BatchAnswer {
  readonly status: number
  readonly body: JsonObject
  /** Revision of the run's last event after a refusal; if the refusal was recorded, that of its own event. */
  readonly revision?: number
}

/** One sealed event: its signed header, its body, and its digest (`sha256:` and 64 hex digits). */
export interface EventRecord {
  readonly header: JsonObject
  readonly data: JsonObject
  readonly digest: string
  /** Whether the event's MAC and the digest of its body are valid, as checked by the ledger. */
  readonly seal?: 'valid' | 'invalid'
}

interface Page {
  readonly items: readonly JsonObject[]
  readonly reservations: readonly JsonObject[]
  readonly nextCursor: string | null
  /** Runs that could not be read. */
  readonly unreadable?: readonly Json[]
}

/** Parameters of a URL; undefined ones are omitted. */
export type Query = Readonly<Record<string, string | number | undefined>>

/**
 * A client of one ledger, under one token. Every method throws `LedgerError` for a refusal, `UnreachableError` if no answer arrives, and the signal's reason after an abort.
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
  /** Executes one command on a run. The command `start` ignores `runId`, which may be empty. */
  execute<C extends Command>(runId: string, command: C, options?: CommandOptions): Promise<Recorded<AnswerTo<C>>>
  /** Executes up to 256 commands, in order. A refused command is returned as an answer, not thrown. */
  batch(items: readonly BatchItem[], options?: CommandOptions): Promise<readonly BatchAnswer[]>
  /** The state of a run: status, steps, totals and what is open. */
  run(runId: string, options?: AskOptions): Promise<RunAnswer>
  /** The established context of a run: the current one, or that of the step `at.step`. */
  context(runId: string, at?: Query, options?: AskOptions): Promise<ContextAnswer>
  /** One call, as `calls` lists it. */
  call(runId: string, callId: string, options?: AskOptions): Promise<JsonObject>
  /** A large value of a run, by the digest in `argsRef` or `resultRef` of a call, or in `inputRef` or `outputRef` of the run. */
  value(runId: string, digest: string, options?: AskOptions): Promise<Json>
  /** Totals and limits, with the first 100 reservations; `reservations` returns all of them. */
  budget(runId: string, options?: AskOptions): Promise<JsonObject>
  /** All reservations of the run, oldest first. */
  reservations(runId: string, options?: AskOptions): AsyncIterable<JsonObject>
  /** One approval, whether or not it was decided. */
  approval(runId: string, approvalId: string, options?: AskOptions): Promise<JsonObject>
  /**
   * Approvals in the tenant that can still be decided, with the arguments of each call; the commands `grant` and `deny` decide them. Throws `runs-unreadable`
   * after the last item if some runs cannot be read.
   */
  approvals(options?: AskOptions): AsyncIterable<JsonObject>
  /** The rollbacks of the run, each with its plan. */
  compensations(runId: string, options?: AskOptions): Promise<readonly JsonObject[]>
  /** All forks with their branches, oldest first. */
  forks(runId: string, options?: AskOptions): Promise<readonly JsonObject[]>
  /** All calls of the run, across pages. */
  calls(runId: string, options?: AskOptions): AsyncIterable<JsonObject>
  /**
   * Calls without an outcome, running or in doubt, of all runs that the token may read; with `equalTo`, only that open call and those with its tool and
   * arguments. Throws `runs-unreadable` after the last item if some runs cannot be read.
   */
  openCalls(options?: AskOptions & { readonly equalTo?: string }): AsyncIterable<JsonObject>
  /** All handoffs of the run, across pages. */
  envelopes(runId: string, options?: AskOptions): AsyncIterable<JsonObject>
  /** All events of the run, in order. `filter` has the parameters of `GET /v1/runs/{run}/events`. */
  events(runId: string, filter?: Query, options?: AskOptions): AsyncIterable<EventRecord>
  /** Runs of the tenant, newest first. `filter` has the parameters of `GET /v1/runs`, such as `status`. */
  runs(filter?: Query, options?: AskOptions): AsyncIterable<JsonObject>
  /** Runs that a worker may resume, in the order in which they became due. If there are none, the ledger waits for one, for at most `waitSeconds` (30). */
  dueRuns(query: DueQuery, options?: AskOptions & { readonly waitSeconds?: number }): Promise<DuePage>
  /** Events of a run, or of all runs that the token may read: first the existing ones, then new ones. Ends with the signal, or when the reader stops. */
  tail(runId?: string, options?: AskOptions): AsyncIterable<EventRecord>
  /** The JSONL export of a run, in chunks of text. */
  exportRun(runId: string, options?: AskOptions): AsyncIterable<string>
}

const PAGE_ITEMS = 500

/**
 * Creates a client of one ledger. It needs only `fetch`. Requests are retried with backoff under one idempotency key; no request is sent before a method is
 * called.
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

  // Answers match the description at /openapi.json, because their types come from the same schemas.
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
    call: (runId, callId, options = {}) => get(`${runPath(runId)}/calls/${pathSegment(callId)}`, {}, options),
    value: async (runId, digest, { signal } = {}) => {
      const path = `${runPath(runId)}/values/${pathSegment(digest)}`
      return parseJson(await transport.whole({ method: 'GET', path, signal }))
    },
    budget: (runId, options = {}) => get(`${runPath(runId)}/budget`, {}, options),
    reservations: (runId, options = {}) => pages(`${runPath(runId)}/budget`, {}, options, 'reservations'),
    approval: (runId, approvalId, options = {}) =>
      get(`${runPath(runId)}/approvals/${pathSegment(approvalId)}`, {}, options),
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
    dueRuns: async ({ names, versions, perTenant, limit, cursor }, { waitSeconds, signal } = {}) => {
      const query = {
        ...{ due: 'true', names: JSON.stringify(names), perTenant, limit, cursor },
        ...(versions !== undefined && { versions: JSON.stringify(versions) }),
      }
      const headers = waitSeconds === undefined ? {} : { prefer: `wait=${waitSeconds}` }
      const answer = await transport.json({ method: 'GET', path: `/v1/runs${search(query)}`, headers, signal })
      const { items, nextCursor } = answer.body as unknown as Page
      return { items, ...(nextCursor !== null && { nextCursor }) }
    },
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
  /** The member of a page that holds the items. */
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
