/** @module The filters of a question: as the address holds them, as the audit takes them. */
import type { z } from 'zod'
import { AUDIT_FILTERS } from '../../../schemas/audit-fields.ts'
import { EventQueryParams } from '../../../schemas/event-query.ts'
import { typesThat } from '../../../schemas/events.ts'
import { AUDIT_QUERIES, type AuditQueryDefinition, type AuditQueryName } from '../../ledger/audit/audit-queries.ts'
import { Refused } from '../page.ts'

export interface AuditFilters {
  readonly filter: z.output<typeof EventQueryParams>
  /** As they were typed. */
  readonly given: Readonly<Record<string, string>>
  readonly extra: { readonly by?: string; readonly seed?: string; readonly routine?: string }
  /** Types that are written as a matter of course were left out, and nobody had requested that. */
  readonly narrowed: boolean
}

/** Only what the query takes; a filter that cannot be read is refused, not passed over. */
export function filtersOf(name: AuditQueryName, query: Readonly<Record<string, unknown>>): AuditFilters {
  const { filters }: AuditQueryDefinition = AUDIT_QUERIES[name]
  const entries = filters.flatMap((each) => {
    const value = query[each]
    return typeof value === 'string' ? [[each, isTime(each) ? zoned(value) : value] as const] : []
  })
  const params = Object.fromEntries(entries)
  const checked = EventQueryParams.safeParse(params)
  if (!checked.success) {
    const [issue] = checked.error.issues
    throw new Refused({ code: 'invalid-query', detail: `${issue?.path.join('.')}: ${issue?.message}` })
  }
  const texts = (['by', 'seed', 'routine'] as const).flatMap((each) =>
    typeof query[each] === 'string' ? [[each, query[each]]] : [],
  )
  const narrowed = name === 'events' && query.routine === undefined && entries.every(([each]) => isTime(each))
  const filter = narrowed ? { ...checked.data, types: [...typesThat(({ routine }) => routine !== true)] } : checked.data
  return { filter, given: params, extra: Object.fromEntries(texts), narrowed }
}

const isTime = (name: string): boolean => AUDIT_FILTERS.find((filter) => filter.name === name)?.input === 'time'

/** What a browser's field says, without a zone, is UTC. */
function zoned(text: string): string {
  if (/^\d{4}-\d\d-\d\d$/.test(text)) return `${text}T00:00:00Z`
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/.test(text) ? `${text}${text.length === 16 ? ':00' : ''}Z` : text
}
