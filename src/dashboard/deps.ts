/** @module Dependencies that the HTTP edge passes to the dashboard, and that the dashboard passes to its pages. */
import type { Context } from 'hono'
import type { RetentionPassesAnswer } from '../../schemas/answers/archives.ts'
import type { Rates } from '../access/rates.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { MemoryBudget } from '../resources/memory-budget.ts'
import type { Pace } from '../resources/work-queue.ts'
import type { Principal, TokenVerifier } from '../signing/tokens.ts'
import type { Session } from './sessions.ts'

export type DashboardEnv = { Bindings: object; Variables: { session: Session } }
export type DashboardContext = Context<DashboardEnv>

export interface Explained {
  readonly status: number
  readonly title: string
  /** Instruction for the reader. */
  readonly remedy: string
}

export interface PageReader {
  readonly caller: Principal
  /** Token of the session. */
  readonly token: string
  /** Signal of the session: signing out aborts its reads. */
  readonly over: AbortSignal
}

export interface LiveFrames extends PageReader {
  readonly headers: Readonly<Record<string, string>>
  /** Frames as text; the signal is aborted when they are no longer wanted. */
  readonly frames: (signal: AbortSignal) => AsyncIterable<string>
}

export interface DashboardDeps {
  readonly ledger: Ledger
  readonly verifier: Pick<TokenVerifier, 'verify'>
  readonly version: string
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly log: { info(fields: object, message: string): void; error(fields: object, message: string): void }
  /** Address of the peer, as far as the socket shows it. */
  readonly remoteAddress: (c: DashboardContext) => string
  /** To be called for a valid session: its connection then counts as authenticated. */
  readonly authenticated: (c: DashboardContext, caller: Principal) => void
  /** Shared with the API: a page counts as a request, and a refused sign-in as a refused token. */
  readonly rates: Rates
  /** Reserves a slot for a long read of the tenant, and returns its release function; otherwise the code of the problem. */
  readonly acquireStream: (tenant: string, kind: 'replay' | 'page') => (() => void) | 'too-many-streams' | 'overloaded'
  readonly memory: MemoryBudget
  /** Passes of retention over a tenant; absent if this process runs none. */
  readonly retention: { readonly of: (tenant: string) => RetentionPassesAnswer } | undefined
  /** Whether reads of bodies are recorded before they are answered, under whatever scope. */
  readonly strictAccess: boolean
  /** Begins the reads of a page. The pace throws `ReaderLeftError` when the reader has left, or the session or its token has ended; call `end` afterwards. */
  readonly beginReading: (c: DashboardContext, reader: PageReader) => { readonly pace: Pace; readonly end: () => void }
  /** A stream of server-sent events, which ends with its reader, its token, its session or the server; otherwise the code of the problem. */
  readonly openLive: (c: DashboardContext, live: LiveFrames) => Response | 'too-many-streams' | 'overloaded'
  /** The API's own answer to a GET with a token: all checks of the API apply. */
  readonly api: (c: DashboardContext, path: string, token: string) => Response | Promise<Response>
  readonly explain: (code: string) => Explained
  /** A temporary failure or damage of the store, as the API answers it; undefined for a defect. `detail` is a sentence. */
  readonly explainError: (error: unknown) => (Explained & { readonly detail: string }) | undefined
}
