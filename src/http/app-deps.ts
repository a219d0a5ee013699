/** @module The dependencies and limits of the HTTP edge. */
import { setMaxListeners } from 'node:events'
import type { RetentionPassesAnswer } from '../../schemas/answers/archives.ts'
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
  /** Maximum body of a single command, in bytes: the payload's 512 KiB and the other members of the request. */
  readonly bodyMaxBytes: number
  /** Maximum body of a command that carries arguments or a result, in bytes: the ledger's limit for a value and the other members of the request. */
  readonly valueBodyMaxBytes: number
  readonly batchMaxBytes: number
  /** Tails, exports, replays and waiting claims that one tenant may have open at the same time. */
  readonly streamsPerTenant: number
  /** Milliseconds without data on a tail after which a comment is sent. */
  readonly heartbeatMs: number
  /** Interval, in milliseconds, at which the tokens of open streams are checked again. */
  readonly tokenCheckMs: number
  /** Serves `/metrics` without a token. */
  readonly openMetrics: boolean
  /** Logs a line for each request. */
  readonly requestLog: boolean
  /** Origins, exactly as browsers send them, whose pages may call the API from a browser. */
  readonly corsOrigins: readonly string[]
  /** Records every read of bodies before it is answered, whatever scope it uses. */
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

/** The subset of a logger that the HTTP edge needs; pino satisfies it. */
export interface HttpLog {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** A request to a model by an authenticated caller. */
export interface ModelRequest {
  readonly method: string
  readonly path: string
  /** The query, including its question mark. */
  readonly search: string
  readonly headers: Headers
  readonly body: Uint8Array
  /** The client's key as it was sent. */
  readonly key: string
  readonly caller: Principal
  readonly ledger: Ledger
  readonly traceparent: string | undefined
  /** Aborted when the client disconnects. */
  readonly gone: AbortSignal
  /** Cuts the client's connection once the written data is sent; false if there is no connection. */
  readonly sever: () => boolean
}

export interface ModelRefusal {
  readonly status: number
  readonly code: string
  readonly message: string
  readonly retry?: boolean
  readonly headers?: Readonly<Record<string, string>>
}

/** Answers the clients of model providers, at the paths of those providers. */
export interface ModelGateway {
  readonly prefixes: readonly string[]
  /** Never throws. */
  answer(request: ModelRequest): Promise<Response>
  /** A refusal in the format of the provider that the path belongs to. */
  refuse(path: string, refused: ModelRefusal): Response
  /** Records pending outcomes in the ledger, for at most `graceMs` milliseconds. */
  close(graceMs: number): Promise<void>
}

/** Answers `/mcp/{name}`. */
export interface McpEntrance {
  handle(asked: McpAsked): Promise<Response>
}

export interface McpAsked {
  readonly request: Request
  readonly name: string
  readonly caller: Principal
  readonly token: string
  /** Aborted when the client closes the connection. */
  readonly gone: AbortSignal
  /** Calls this application, for commands under the caller's token. */
  readonly ledger: (url: string, init: RequestInit) => Promise<Response>
}

/** A request to `/mcp`, with a valid token. */
export interface McpReadAsked {
  readonly method: string
  readonly headers: Headers
  readonly body: string
  /** Calls this application. */
  readonly ledger: (path: string, init: RequestInit) => Promise<Response>
}

export interface AppOptions {
  readonly ledger: Ledger
  readonly verifier: Pick<TokenVerifier, 'verify'>
  /** The current public keys that verify our tokens. */
  readonly jwks: () => object
  readonly log: HttpLog
  readonly version: string
  readonly settings?: Partial<HttpSettings>
  /** Work queue that divides the thread's time among readers; the ledger's indexing uses it as well. */
  readonly work?: WorkQueue
  /** Shared with the ledger; default: a separate budget. */
  readonly memory?: MemoryBudget
  /** Folders whose free disk space is measured, by the name used in the metric. */
  readonly disks?: Readonly<Record<string, string>>
  /** Threads that produce exports, bundles, replays and answers; if absent, the thread that serves requests does. */
  readonly readers?: Pick<ReaderThreads, 'body' | 'bundle' | 'replay' | 'answerBody' | 'stats'>
  /** The thread that writes the derived files, for its metrics; absent if there is none. */
  readonly indexing?: Pick<IndexingThread, 'stats'>
  /** Absent if no MCP server is configured. */
  readonly mcp?: McpEntrance | undefined
  /** Answers `/mcp`, the MCP server over this ledger; if absent, the path does not exist. */
  readonly mcpReads?: ((asked: McpReadAsked) => Promise<Response>) | undefined
  /** For its metrics; absent if no webhook is configured. */
  readonly webhook?: WebhookCounters
  /** Passes of retention over a tenant; absent if no classes are set, or the store archives nothing. */
  readonly retention?: { readonly of: (tenant: string) => RetentionPassesAnswer }
  /** If absent, the gateway's paths do not exist. */
  readonly gateway?: ModelGateway
  /** Milliseconds since 1970; default: the real clock. */
  readonly now?: () => number
  /** Whether the process will end soon: `/readyz` then answers 503, and everything else is still served. Default: false. */
  readonly isLeaving?: () => boolean
  /** Once aborted, `/readyz` answers 503, and every tail ends with the id to resume from. */
  readonly draining?: AbortSignal
}

type Optional = 'readers' | 'indexing' | 'webhook' | 'retention' | 'gateway' | 'mcp' | 'mcpReads'

/** `AppOptions` with every default filled in. */
export interface AppDeps extends Required<Omit<AppOptions, 'settings' | Optional>>, Pick<AppOptions, Optional> {
  readonly settings: HttpSettings
}

export function appDeps(options: AppOptions): AppDeps {
  const { draining = new AbortController().signal } = options
  // Every open stream adds a listener: a high number is not a leak.
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
