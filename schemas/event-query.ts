/**
 * @module An auditor's query of events: only filters of `audit-fields.ts`, each optional, combined by AND. The same query is used over
 * HTTP, on the command line, in exports and in the dashboard, and is part of the manifest of an export.
 */
import { z } from 'zod'
import { AUDIT_FILTERS, type FilterName, type FilterValues, type NamedFilter } from './audit-fields.ts'

function membersOf(schemaOf: (filter: NamedFilter) => z.ZodType): {
  [N in FilterName]: z.ZodOptional<z.ZodType<FilterValues[N]>>
} {
  const members = AUDIT_FILTERS.map((filter) => [
    filter.name,
    schemaOf(filter).optional().describe(`Only events ${filter.about}.`),
  ])
  return Object.fromEntries(members)
}

/** JSON form, for manifests and code. */
export const EventQuery = z.strictObject(membersOf(({ schema }) => schema))

/** Form for URL parameters and flags: `types` is a comma-separated list. */
export const EventQueryParams = z.strictObject(membersOf(({ schema, parameter = schema }) => parameter))

export type EventQuery = z.infer<typeof EventQuery>

/** That the period of a query ends before it begins, which only a mistake asks for; otherwise undefined. */
export function periodFault({ since, until }: Pick<EventQuery, 'since' | 'until'>): string | undefined {
  if (since === undefined || until === undefined || Date.parse(since) <= Date.parse(until)) return undefined
  return `since (${since}) is later than until (${until})`
}
