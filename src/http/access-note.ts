/** @module Which reads go on record, and what their entry says (LOG-20): those that only an audit scope allows. */
import type { AccessRead } from '../ledger/audit/access-log.ts'
import type { Principal, Scope } from '../signing/tokens.ts'
import type { EdgeContext } from './edge-context.ts'
import type { AccessNote, Edge, GuardedRoute } from './route.ts'

const AUDIT_SCOPES: ReadonlySet<Scope> = new Set<Scope>(['audit:read', 'audit:export'])
/** Parameters that say where to go on, not what is asked. */
const PLACES: ReadonlySet<string> = new Set(['cursor', 'after', 'limit'])

export interface Reading {
  readonly c: EdgeContext
  readonly edge: Edge
  readonly caller: Principal
  readonly run: string
}

/** Undefined where nobody reads by an audit scope. */
export function accessNote(route: GuardedRoute, { c, edge, caller, run }: Reading): AccessNote | undefined {
  if (route.recordsItself === true || route.method !== 'get') return undefined
  const held = route.scopes.filter((scope) => caller.scopes.has(scope))
  if (!held.every((scope) => AUDIT_SCOPES.has(scope))) return undefined
  // Asked for last: a ledger whose store is away has none to give.
  const { audit } = edge.ledger
  if (audit === undefined) return undefined
  const note: AccessNote = {
    record: (cut) => audit.record(caller, readOf({ route, run, search: new URL(c.req.url).searchParams, note }, cut)),
  }
  return note
}

interface Noted {
  readonly route: GuardedRoute
  readonly run: string
  readonly search: URLSearchParams
  readonly note: AccessNote
}

function readOf({ route, run, search, note }: Noted, cut: true | undefined): AccessRead {
  const filters = [...search].filter(([name]) => !PLACES.has(name))
  const { count, eventId, verdict } = note
  return {
    query: route.path.replace('/v1/', '').replaceAll(/\/?\{\w+\}/g, ''),
    ...(run !== '' && { run }),
    ...(filters.length > 0 && { filters: Object.fromEntries(filters) }),
    ...(eventId !== undefined && { asOf: { eventId } }),
    ...(count !== undefined && { count }),
    ...(verdict !== undefined && { verdict }),
    ...(cut === true && { cut }),
  }
}
