/** @module Which reads are recorded, and what their entry says of the question (LOG-20): those that only an audit scope allows. */
import type { AccessEntry } from '../../schemas/events/access-recorded.ts'
import type { Principal, Scope } from '../signing/tokens.ts'
import type { TokenAccess } from './access.ts'

/** A read, but for who and when. */
export type AccessRead = Omit<AccessEntry, 'at' | 'actor' | 'principal' | 'via'>

const AUDIT_SCOPES: ReadonlySet<Scope> = new Set<Scope>(['audit:read', 'audit:export'])
/** Parameters that say where to go on, not what is asked. */
const PLACES: ReadonlySet<string> = new Set(['cursor', 'place', 'after', 'limit'])

/** Whether whoever answers must put this on record first: the caller reads it by an audit scope alone, or it is bodies under `strictAccess`. */
export function isAudited(access: TokenAccess, caller: Principal, strictAccess: boolean): boolean {
  if (strictAccess && access.payloads === true) return true
  if (access.recordedBehind === true) return false
  return access.scopes.filter((scope) => caller.scopes.has(scope)).every((scope) => AUDIT_SCOPES.has(scope))
}

/** What was requested: the query's name, the run, and the parameters but for where to go on. */
export function readOf(query: string, run: string, search: URLSearchParams): AccessRead {
  const filters = [...search].filter(([name]) => !PLACES.has(name))
  return {
    query,
    ...(run !== '' && { run }),
    ...(filters.length > 0 && { filters: Object.fromEntries(filters) }),
  }
}

const FILTERS_MAX = 32
const FILTER_NAME_MAX_CHARS = 64
const FILTER_MAX_CHARS = 1_024

/** As many filters and as much of each as an entry holds; half a surrogate pair is in no record. */
export function recordedFilters(filters: AccessRead['filters'] = {}): Readonly<Record<string, string>> {
  const within = Object.entries(filters).slice(0, FILTERS_MAX)
  return Object.fromEntries(
    within.map(([name, value]) => [clipped(name, FILTER_NAME_MAX_CHARS), clipped(value, FILTER_MAX_CHARS)]),
  )
}

function clipped(text: string, maxChars: number): string {
  return text.slice(0, maxChars).replace(/\p{Cs}/gu, '')
}
