/**
 * @module What an auditor asks of events: filters of `audit-fields.ts` alone, each optional, combined by AND. The same query is asked over
 * HTTP, on the command line, in exports and by the dashboard, and is in the manifest of what was exported.
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

/** As JSON: in a manifest, and from code. */
export const EventQuery = z.strictObject(membersOf(({ schema }) => schema))

/** As parameters of a URL and as flags: `types` is a list with commas. */
export const EventQueryParams = z.strictObject(membersOf(({ schema, parameter = schema }) => parameter))

export type EventQuery = z.infer<typeof EventQuery>
