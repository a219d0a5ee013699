/** @module The declaration of a page, which the guard, the shell and the tests of roles all use. */
import type { Child } from 'hono/jsx'
import type { z } from 'zod'
import type { TokenAccess } from '../access/access.ts'
import type { Caller, Found } from '../ledger/ledger.ts'
import type { Principal } from '../signing/tokens.ts'
import type { DashboardContext, DashboardDeps } from './deps.ts'
import type { Session } from './sessions.ts'

export type Theme = 'auto' | 'light' | 'dark'
export type NavItem = 'overview' | 'runs' | 'approvals' | 'suspects' | 'doubts' | 'refused' | 'spend' | 'log' | 'audit'

/** A request that has passed session, scope, token bounds, rate limit and query. */
export interface View<Query = unknown> {
  readonly c: DashboardContext
  readonly deps: DashboardDeps
  readonly session: Session
  readonly caller: Principal & Pick<Caller, 'pace'>
  /** The run in the path; empty on pages without a run. */
  readonly run: string
  readonly query: Query
  /** Members of the submitted form; empty for a GET. */
  readonly form: ReadonlyMap<string, string>
  /** Members of the access record in addition to the reader and the request. */
  readonly noted: { verdict?: 'VERIFIED' | 'TAMPERED' | 'INCOMPLETE'; count?: number }
}

export interface Page {
  readonly title: string
  readonly body: Child
  readonly status?: number
  readonly nav?: NavItem
  /** File names of scripts among the assets. */
  readonly scripts?: readonly string[]
}

export type Answer = Page | Response | Promise<Page | Response>

export interface PageRoute {
  readonly method: 'get' | 'post'
  /** Path below `/ui`, in Hono's syntax. */
  readonly path: string
  /** Access that the reader's token must have. */
  readonly access: TokenAccess
  readonly query: z.ZodObject
  /** Whether its answers are streams, which a HEAD must not open. */
  readonly streams?: boolean
  /** Kind of read, for the slot that it reserves; by default, a page of some rows. */
  readonly reads?: 'replay'
  readonly handle: (view: View) => Answer
}

/** A page without a session: the sign-in, and resources that every page needs. */
export interface OpenPage {
  readonly method: 'get' | 'post'
  readonly path: string
  readonly access: 'open'
  readonly handle: (c: DashboardContext) => Response | Promise<Response>
}

/** Declares a page whose handler gets the query with the type of its schema. */
export function pageRoute<Q extends z.ZodObject>(
  route: Omit<PageRoute, 'query' | 'handle' | 'method'> & {
    readonly method?: 'post'
    readonly query: Q
    readonly handle: (view: View<z.output<Q>>) => Answer
  },
): PageRoute {
  // The guard passes exactly the value that `query` has parsed.
  return { method: 'get', ...route } as unknown as PageRoute
}

/** A refused read: the guard catches it and shows it with a remedy. `code` is one of the API's problem codes. */
export class Refused extends Error {
  readonly code: string

  constructor({ code, detail }: { readonly code: string; readonly detail: string }) {
    super(detail)
    this.name = 'Refused'
    this.code = code
  }
}

/** Returns the value, or throws `Refused`. */
export function orRefused<T>(found: Found<T>): T {
  if (!found.ok) throw new Refused(found.refusal)
  return found.value
}
