/** @module What the HTTP edge is handed, and its limits. */
import { setMaxListeners } from 'node:events'
import type { RateSettings } from '../access/rates.ts'
import type { IndexingThread } from '../indexing/indexing-thread.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { ReaderThreads } from '../read-workers/reader-threads.ts'
import { MemoryBudget } from '../resources/memory-budget.ts'
import { WorkQueue } from '../resources/work-queue.ts'
import type { Principal, TokenVerifier } from '../signing/tokens.ts'
import type { WebhookCounters } from './webhook-metrics.ts'

const KIB = 1024

export interface HttpSettings extends RateSettings {
  /** Body of a single command: the payload's 512 KiB and room for the request's other members. */
  readonly bodyMaxBytes: number
  /** Of a command that carries arguments or a result: what the ledger takes of a value, and room around it. */
  readonly valueBodyMaxBytes: number
  readonly batchMaxBytes: number
  /** Tails, exports, replays and waiting claims that one tenant may hold open. */
  readonly streamsPerTenant: number
  /** Silence on a tail after which a comment is sent. */
  readonly heartbeatMs: number
  /** Open streams are checked against their tokens so often. */
  readonly tokenCheckMs: number
  /** `/metrics` without a token. */
  readonly openMetrics: boolean
  /** A line of the log for each request. */
  readonly requestLog: boolean
  /** Origins whose pages may ask the API from a browser, as browsers say them. */
  readonly corsOrigins: readonly string[]
  /** A read of bodies is on record before it is answered, whichever scope it is read by. */
  readonly strictAccess: boolean
}

const HTTP_DEFAULTS: HttpSettings = {
  bodyMaxBytes: 544 * KIB,
  valueBodyMaxBytes: 8 * KIB * KIB + 32 * KIB,
  batchMaxBytes: 8 * KIB * KIB,
  ratePerSecond: 5_000,
  rateBurst: 10_000,
  workMsPerSecond: 800,
  refusedTokensPerSecond: 20,
  streamsPerTenant: 64,
  heartbeatMs: 15_000,
  tokenCheckMs: 500,
  openMetrics: false,
  requestLog: false,
  corsOrigins: [],
  strictAccess: false,
}

/** The little of a logger that this edge needs; pino fits. */
export interface HttpLog {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** A request to a model, whose sender is known. */
export interface ModelRequest {
  readonly method: string
  readonly path: string
  /** With its question mark. */
  readonly search: string
  readonly headers: Headers
  readonly body: Uint8Array
  /** The client's key as it was sent. */
  readonly key: string
  readonly caller: Principal
  readonly ledger: Ledger
  readonly traceparent: string | undefined
  /** Aborted when the client has left. */
  readonly gone: AbortSignal
  /** Cuts the client's connection behind what was written; false where there is none to be cut. */
  readonly sever: () => boolean
}

export interface ModelRefusal {
  readonly status: number
  readonly code: string
  readonly message: string
  readonly retry?: boolean
  readonly headers?: Readonly<Record<string, string>>
}

/** What answers clients of model providers below its own paths. */
export interface ModelGateway {
  readonly prefixes: readonly string[]
  /** It never throws. */
  answer(request: ModelRequest): Promise<Response>
  /** In the shape of the provider whose path it is. */
  refuse(path: string, refused: ModelRefusal): Response
  /** What is owed to the ledger is given to it, for so many milliseconds. */
  close(graceMs: number): Promise<void>
}

/** What answers `/mcp/{name}`. */
export interface McpEntrance {
  handle(asked: McpAsked): Promise<Response>
}

export interface McpAsked {
  readonly request: Request
  readonly name: string
  readonly caller: Principal
  readonly token: string
  /** Aborted when whoever asked closes the connection. */
  readonly gone: AbortSignal
  /** This application, for commands under the caller's token. */
  readonly ledger: (url: string, init: RequestInit) => Promise<Response>
}

export interface AppOptions {
  readonly ledger: Ledger
  readonly verifier: Pick<TokenVerifier, 'verify'>
  /** The public keys that check our tokens, as they are now. */
  readonly jwks: () => object
  readonly log: HttpLog
  readonly version: string
  readonly settings?: Partial<HttpSettings>
  /** The time that readers share: the ledger's indexing has its part in it, too. */
  readonly work?: WorkQueue
  /** Shared with the ledger behind; one of its own by default. */
  readonly memory?: MemoryBudget
  /** Folders whose disks are measured, by the name that the metric gives them. */
  readonly disks?: Readonly<Record<string, string>>
  /** Threads that make exports, bundles, replays and answers; absent: the thread that answers makes them. */
  readonly readers?: Pick<ReaderThreads, 'body' | 'bundle' | 'replay' | 'answerBody' | 'stats'>
  /** The thread that writes the files that follow the store, for its counters; absent where there is none. */
  readonly indexing?: Pick<IndexingThread, 'stats'>
  /** Absent where no MCP server is behind this one. */
  readonly mcp?: McpEntrance | undefined
  /** For its counters; absent where nothing is delivered. */
  readonly webhook?: WebhookCounters
  /** Absent: its paths are not there. */
  readonly gateway?: ModelGateway
  /** Milliseconds since 1970; the real clock by default. */
  readonly now?: () => number
  /** Whether the process ends soon: `/readyz` answers 503, everything else is served. By default it does not. */
  readonly isLeaving?: () => boolean
  /** Once aborted: `/readyz` answers 503 and every tail ends with the id to resume from. */
  readonly draining?: AbortSignal
}

type Optional = 'readers' | 'indexing' | 'webhook' | 'gateway' | 'mcp'

/** The same with every default filled in. */
export interface AppDeps extends Required<Omit<AppOptions, 'settings' | Optional>>, Pick<AppOptions, Optional> {
  readonly settings: HttpSettings
}

export function appDeps(options: AppOptions): AppDeps {
  const { draining = new AbortController().signal } = options
  // Every open stream listens to it: many listeners are no leak.
  setMaxListeners(0, draining)
  return {
    now: Date.now,
    memory: new MemoryBudget(),
    work: new WorkQueue(),
    disks: {},
    isLeaving: () => false,
    ...options,
    draining,
    settings: { ...HTTP_DEFAULTS, ...options.settings },
  }
}
