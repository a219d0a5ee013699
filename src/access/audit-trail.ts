/** @module Decides which reads are recorded in the audit trail, namely those that only an audit scope allows, and builds their entries (LOG-20). */
import type { AccessEntry } from '../../schemas/events/access-recorded.ts'
import type { Principal, Scope } from '../signing/tokens.ts'
import type { TokenAccess } from './access.ts'

/** The entry of a read, without its caller and its time. */
export type AccessRead = Omit<AccessEntry, 'at' | 'actor' | 'principal' | 'via'>

const AUDIT_SCOPES: ReadonlySet<Scope> = new Set<Scope>(['audit:read', 'audit:export'])
/** Parameters that select a page of the answer and do not change the question. */
const PLACES: ReadonlySet<string> = new Set(['cursor', 'place', 'after', 'limit'])

/** Whether the read must be recorded before it is answered: only an audit scope allows it, or it returns bodies under `strictAccess`. */
export function isAudited(access: TokenAccess, caller: Principal, strictAccess: boolean): boolean {
  if (strictAccess && access.payloads === true) return true
  if (access.recordedBehind === true) return false
  return access.scopes.filter((scope) => caller.scopes.has(scope)).every((scope) => AUDIT_SCOPES.has(scope))
}

/** The question: the name of the query, the run, and all parameters except the paging ones. */
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

/** Clips the filters, in number and length, to what an entry can hold. Lone surrogates are removed, since no record may contain them. */
export function recordedFilters(filters: AccessRead['filters'] = {}): Readonly<Record<string, string>> {
  const within = Object.entries(filters).slice(0, FILTERS_MAX)
  return Object.fromEntries(
    within.map(([name, value]) => [clipped(name, FILTER_NAME_MAX_CHARS), clipped(value, FILTER_MAX_CHARS)]),
  )
}

function clipped(text: string, maxChars: number): string {
  return text.slice(0, maxChars).replace(/\p{Cs}/gu, '')
}
