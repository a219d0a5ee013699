/** @module What a page is: one declaration that the guard, the shell and the tests of roles all read. */
import type { Child } from 'hono/jsx'
import type { z } from 'zod'
import type { TokenAccess } from '../access/access.ts'
import type { Caller, Found } from '../ledger/ledger.ts'
import type { Principal } from '../signing/tokens.ts'
import type { DashboardContext, DashboardDeps } from './deps.ts'
import type { Session } from './sessions.ts'

export type Theme = 'auto' | 'light' | 'dark'
export type NavItem = 'overview' | 'runs' | 'approvals' | 'suspects' | 'doubts' | 'refused' | 'spend' | 'log' | 'audit'

/** A request that has passed session, scope, bonds, rate and query. */
export interface View<Query = unknown> {
  readonly c: DashboardContext
  readonly deps: DashboardDeps
  readonly session: Session
  readonly caller: Principal & Pick<Caller, 'pace'>
  /** The run in the path; empty on pages without one. */
  readonly run: string
  readonly query: Query
  /** Members of the form that was posted; empty for a GET. */
  readonly form: ReadonlyMap<string, string>
  /** What the access record says beside who requested what. */
  readonly noted: { verdict?: 'VERIFIED' | 'TAMPERED' | 'INCOMPLETE'; count?: number }
}

export interface Page {
  readonly title: string
  readonly body: Child
  readonly status?: number
  readonly nav?: NavItem
  /** Names of scripts among the assets. */
  readonly scripts?: readonly string[]
}

export type Answer = Page | Response | Promise<Page | Response>

export interface PageRoute {
  readonly method: 'get' | 'post'
  /** Below `/ui`, in Hono's form. */
  readonly path: string
  /** What it demands of its reader. */
  readonly access: TokenAccess
  readonly query: z.ZodObject
  /** Its answers are streams, which a HEAD must not open. */
  readonly streams?: boolean
  /** What it reads at most, for the slot that it takes; a page of some rows unless it says otherwise. */
  readonly reads?: 'replay'
  readonly handle: (view: View) => Answer
}

/** Shown without a session: what leads to one, and what every page needs. */
export interface OpenPage {
  readonly method: 'get' | 'post'
  readonly path: string
  readonly access: 'open'
  readonly handle: (c: DashboardContext) => Response | Promise<Response>
}

/** A page whose handler sees the query as its schema types it. */
export function pageRoute<Q extends z.ZodObject>(
  route: Omit<PageRoute, 'query' | 'handle' | 'method'> & {
    readonly method?: 'post'
    readonly query: Q
    readonly handle: (view: View<z.output<Q>>) => Answer
  },
): PageRoute {
  // The guard hands over what `query` has parsed, and nothing else.
  return { method: 'get', ...route } as unknown as PageRoute
}

/** A reading that was refused: caught by the guard and shown with what to do. `code` is one of the API's problems. */
export class Refused extends Error {
  readonly code: string

  constructor({ code, detail }: { readonly code: string; readonly detail: string }) {
    super(detail)
    this.name = 'Refused'
    this.code = code
  }
}

/** The value, or the page of its refusal. */
export function orRefused<T>(found: Found<T>): T {
  if (!found.ok) throw new Refused(found.refusal)
  return found.value
}
