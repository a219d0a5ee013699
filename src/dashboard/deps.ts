/** @module What the dashboard is handed by the HTTP edge, and what its pages are handed in turn. */
import type { Context } from 'hono'
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
  /** What to do. */
  readonly remedy: string
}

export interface PageReader {
  readonly caller: Principal
  /** The session's. */
  readonly token: string
  /** Of the session: signing out ends what it reads. */
  readonly over: AbortSignal
}

export interface LiveFrames extends PageReader {
  readonly headers: Readonly<Record<string, string>>
  /** Frames as texts; the signal aborts when they are no longer wanted. */
  readonly frames: (signal: AbortSignal) => AsyncIterable<string>
}

export interface DashboardDeps {
  readonly ledger: Ledger
  readonly verifier: Pick<TokenVerifier, 'verify'>
  readonly version: string
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly log: { info(fields: object, message: string): void; error(fields: object, message: string): void }
  /** Who is at the other end, as far as a socket can tell. */
  readonly remoteAddress: (c: DashboardContext) => string
  /** To be called where a session was good: its connection is no stranger's. */
  readonly authenticated: (c: DashboardContext, caller: Principal) => void
  /** Shared with the API: a page counts as a request, a refused sign-in as a refused token. */
  readonly rates: Rates
  /** A slot for a long read of the tenant, to be called when it ends; else the code of the problem why there is none. */
  readonly acquireStream: (tenant: string, kind: 'replay' | 'page') => (() => void) | 'too-many-streams' | 'overloaded'
  readonly memory: MemoryBudget
  /** A read of bodies is on record before it is answered, whichever scope it is read by. */
  readonly strictAccess: boolean
  /** Begins what a page reads: its pace, which throws `ReaderLeftError` when the reader left or the session or its token is over; then call `end`. */
  readonly beginReading: (c: DashboardContext, reader: PageReader) => { readonly pace: Pace; readonly end: () => void }
  /** A stream of server-sent events, which ends with its reader, its token, its session or the server; else the code of the problem why not. */
  readonly openLive: (c: DashboardContext, live: LiveFrames) => Response | 'too-many-streams' | 'overloaded'
  /** The API's own answer to a GET under a token: every check of the API holds. */
  readonly api: (c: DashboardContext, path: string, token: string) => Response | Promise<Response>
  readonly explain: (code: string) => Explained
}
