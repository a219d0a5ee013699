/** @module The declaration of a route, which the dispatcher, the documentation and the tests of roles all read. */
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

/** Shared by all handlers of one app. */
export interface HttpDeps extends AppDeps {
  readonly slots: StreamSlots
  readonly liveTokens: LiveTokens
  readonly rates: Rates
}

/** A request that has passed the checks of token, scope, bonds, rate and query. */
export interface RequestContext<Query = unknown> {
  readonly c: HttpContext
  readonly deps: HttpDeps
  readonly caller: Principal & Pick<Caller, 'pace'>
  /** The run in the path; empty on routes without one. */
  readonly run: string
  /** A further id in the path, such as that of a call or a reservation; otherwise empty. */
  readonly item: string
  /** The path with its parameters decoded; idempotency keys are bound to it. */
  readonly path: string
  readonly query: Query
  /** Present if the read is recorded; the handler adds details about the answer. */
  readonly access?: AccessNote
  /** Present if the route takes a body. */
  readonly body?: HeldBody
}

/** Details in the record of a read, in addition to the caller and the query (LOG-20). */
export interface AccessNote {
  /** Number of items, events or lines sent so far. */
  count?: number
  /** Id of the event that the answer is pinned to. */
  eventId?: string
  verdict?: 'VERIFIED' | 'TAMPERED' | 'INCOMPLETE' | 'UNVERIFIABLE'
  /** Set if the answer is streamed: the stream then writes the record. */
  streamed?: true
  /** Records the read with the details given so far. Throws `StoreUnavailableError`. */
  readonly record: (cut?: true) => Promise<void>
}

/** How a command is read from a request; a batch reads it the same way. */
export interface CommandSpec {
  readonly kind: Command['kind']
  readonly body: z.ZodType<object>
  readonly command: (body: object, item: string) => Command
  readonly takesValue?: boolean
  /** What some of these commands need beyond the access of the route; undefined for the others. */
  readonly moreFor?: (command: Command) => TokenAccess | undefined
  /** Whether the command was accepted but has not taken effect yet: 202. */
  readonly isAccepted?: (outcome: Extract<Outcome, { ok: true }>) => boolean
  /** Set if the command creates a resource: its path, for 201 and `Location`. */
  readonly location?: (outcome: Extract<Outcome, { ok: true }>, runPath: string) => string
}

interface RouteDocs {
  readonly summary: string
  readonly tag: string
  /** Additional success statuses; 200 is implied. */
  readonly answers?: Readonly<Record<number, string>>
  /** Schema of the answer, if it is JSON. */
  readonly answer?: z.ZodType
  /** Media type of the answer, if it is not JSON. */
  readonly produces?: string
  /** Schema of the body, if the route takes one. */
  readonly body?: z.ZodType
}

interface RouteBase extends RouteDocs {
  /** The access that the route requires. */
  readonly access: Access
  readonly method: 'get' | 'post'
  /** OpenAPI form: `/v1/runs/{run}`. */
  readonly path: string
  /** The last parameter takes the rest of the path, including slashes. */
  readonly deep?: boolean
}

/** A route that needs no token. */
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

/** A route that reads; its handler receives the query as its schema types it. */
export function readRoute<Q extends z.ZodObject>(
  route: Omit<GuardedRoute<z.output<Q>>, 'query' | 'method'> & { readonly query: Q },
): GuardedRoute {
  // The dispatcher passes the value that `query` has parsed, and nothing else.
  return { ...route, method: 'get' } as unknown as GuardedRoute
}
