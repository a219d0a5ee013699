/** @module What a route is: one declaration that the dispatcher, the documentation and the tests of roles all read. */
import type { z } from 'zod'
import type { Access, TokenAccess } from '../access/access.ts'
import type { Rates } from '../access/rates.ts'
import type { Caller, Command, Outcome } from '../ledger/ledger.ts'
import type { Principal } from '../signing/tokens.ts'
import type { AppDeps } from './app-deps.ts'
import type { HeldBody } from './body.ts'
import type { HttpContext } from './http-context.ts'
import type { LiveTokens } from './live-tokens.ts'
import type { StreamSlots } from './stream-slots.ts'

/** What the handlers of one app share. */
export interface HttpDeps extends AppDeps {
  readonly slots: StreamSlots
  readonly liveTokens: LiveTokens
  readonly rates: Rates
}

/** A request that has passed token, scope, bonds, rate and query. */
export interface RequestContext<Query = unknown> {
  readonly c: HttpContext
  readonly deps: HttpDeps
  readonly caller: Principal & Pick<Caller, 'pace'>
  /** The run in the path; empty on routes without one. */
  readonly run: string
  /** A further id in the path: a call's, a reservation's; else empty. */
  readonly item: string
  /** The path with its parameters decoded: what an idempotency key is bound to. */
  readonly path: string
  readonly query: Query
  /** Present where the read is recorded: what the handler knows about the answer. */
  readonly access?: AccessNote
  /** Present where the route takes a body. */
  readonly body?: HeldBody
}

/** What the record of a read says beyond who asked and for what (LOG-20). */
export interface AccessNote {
  /** Items, events or lines sent so far. */
  count?: number
  /** What the answer is pinned to. */
  eventId?: string
  verdict?: 'VERIFIED' | 'TAMPERED' | 'INCOMPLETE' | 'UNVERIFIABLE'
  /** Set by whoever streams the answer: the record is then written by the stream. */
  streamed?: true
  /** Puts the read on record as the note stands. Throws `StoreUnavailableError`. */
  readonly record: (cut?: true) => Promise<void>
}

/** How a command is read from a request; the batch reads it the same way. */
export interface CommandSpec {
  readonly kind: Command['kind']
  readonly body: z.ZodType<object>
  readonly command: (body: object, item: string) => Command
  readonly takesValue?: boolean
  /** Whether what the command asks for has yet to come about: 202. */
  readonly isAccepted?: (outcome: Extract<Outcome, { ok: true }>) => boolean
  /** Set where the command makes a resource: its path, for 201 and `Location`. */
  readonly location?: (outcome: Extract<Outcome, { ok: true }>, runPath: string) => string
}

interface RouteDocs {
  readonly summary: string
  readonly tag: string
  /** Status numbers of success, beside the 200 that is assumed. */
  readonly answers?: Readonly<Record<number, string>>
  /** Schema of the answer, where it is JSON. */
  readonly answer?: z.ZodType
  /** Media type of the answer, where it is not JSON. */
  readonly produces?: string
  /** Schema of the body, where the route reads one. */
  readonly body?: z.ZodType
}

interface RouteBase extends RouteDocs {
  /** What it demands of its caller. */
  readonly access: Access
  readonly method: 'get' | 'post'
  /** OpenAPI form: `/v1/runs/{run}`. */
  readonly path: string
  /** The last parameter takes the rest of the path, slashes too. */
  readonly deep?: boolean
}

/** Needs no token. */
export interface OpenRoute extends RouteBase {
  readonly access: 'open'
  readonly handle: (c: HttpContext, deps: HttpDeps) => Response | Promise<Response>
}

export interface GuardedRoute<Query = unknown> extends RouteBase {
  readonly access: TokenAccess
  readonly query: z.ZodObject
  /** Takes a body of many commands, up to `batchMaxBytes`. */
  readonly takesBatch?: boolean
  /** Takes a body with arguments or a result, up to `valueBodyMaxBytes`. */
  readonly takesValue?: boolean
  readonly spec?: CommandSpec
  readonly handle: (context: RequestContext<Query>) => Response | Promise<Response>
}

export type Route = OpenRoute | GuardedRoute

/** A route that reads; its handler sees the query as its schema types it. */
export function readRoute<Q extends z.ZodObject>(
  route: Omit<GuardedRoute<z.output<Q>>, 'query' | 'method'> & { readonly query: Q },
): GuardedRoute {
  // The dispatcher hands over what `query` has parsed, and nothing else.
  return { ...route, method: 'get' } as unknown as GuardedRoute
}
