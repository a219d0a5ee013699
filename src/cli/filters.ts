/** @module The flags of audit queries, made from the table of the queries: `--agent writer` here is `?agent=writer` over HTTP. */
import { AUDIT_QUERIES, type AuditQueryDefinition, type AuditQueryName } from '../ledger/audit/audit-queries.ts'
import { API_TEXTS, type Params } from './api.ts'
import type { Accepted, Arguments } from './arguments.ts'
import { PLACE_SETTINGS } from './arguments.ts'
import { usageFailure } from './failure.ts'

const ALL_FILTERS = [...new Set(Object.values(AUDIT_QUERIES).flatMap(({ filters }) => filters))]
/** Beside the filters: a size of the log, how many, in which order, what to sum by, what to draw with. */
const MORE = ['as-of', 'limit', 'order', 'by', 'seed']

export const QUERY_ARGUMENTS = {
  settings: PLACE_SETTINGS,
  texts: [...API_TEXTS, ...ALL_FILTERS, ...MORE],
  switches: ['json'],
} as const satisfies Accepted

/** Filters of one query. What it does not take is refused here, before anything is opened. */
export function queryParams(name: AuditQueryName, { text }: Arguments): Params {
  const { filters }: AuditQueryDefinition = AUDIT_QUERIES[name]
  const stranger = ALL_FILTERS.find((filter) => text(filter) !== undefined && !filters.includes(filter))
  if (stranger !== undefined) throw usageFailure(`${name} takes no --${stranger}; it takes ${flagsOf(filters)}`)
  const inputs = [...filters, 'by', 'seed', 'order'].map((filter) => [filter, text(filter)])
  return { ...Object.fromEntries(inputs), asOf: text('as-of') }
}

export function limitOf({ text }: Arguments): number | undefined {
  const value = text('limit')
  if (value === undefined) return undefined
  if (!/^[1-9]\d{0,14}$/.test(value)) throw usageFailure(`--limit: "${value}" is no number of items`)
  return Number(value)
}

function flagsOf(filters: readonly string[]): string {
  return filters.map((filter) => `--${filter}`).join(' ')
}
