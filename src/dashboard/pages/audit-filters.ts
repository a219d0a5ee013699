/** @module The filters of a question: from the address to the form that the audit expects. */
import type { z } from 'zod'
import { AUDIT_FILTERS } from '../../../schemas/audit-fields.ts'
import { EventQueryParams } from '../../../schemas/event-query.ts'
import { typesThat } from '../../../schemas/events.ts'
import { AUDIT_QUERIES, type AuditQueryDefinition, type AuditQueryName } from '../../ledger/audit/audit-queries.ts'
import { Refused } from '../page.ts'
import { instantOf, isZone } from '../when.ts'

export interface AuditFilters {
  readonly filter: z.output<typeof EventQueryParams>
  /** The filters as typed. */
  readonly typed: Readonly<Record<string, string>>
  readonly extra: { readonly [N in (typeof EXTRA)[number]]?: string }
  /** Size of the log at the shown moment. */
  readonly asOf: number | undefined
  /** Whether routine types were left out without a filter that requested it. */
  readonly narrowed: boolean
}

/** Only the filters that the query supports; an invalid filter is refused, not ignored. */
export function filtersOf(name: AuditQueryName, query: Readonly<Record<string, unknown>>, nowMs: number): AuditFilters {
  const { filters }: AuditQueryDefinition = AUDIT_QUERIES[name]
  const typed = Object.fromEntries(filters.flatMap((each) => typedAs(query, each)))
  const { zone = 'UTC' } = query
  if (typeof zone !== 'string' || !isZone(zone))
    throw new Refused({ code: 'invalid-query', detail: 'zone: give a zone such as UTC, Europe/Berlin or +02:00' })
  const entries = Object.entries(typed).map(([each, text]) =>
    // A text that is no time is refused by the schema, with its message.
    isTime(each) ? [each, instantOf(text, { nowMs, zone }) ?? text] : [each, text],
  )
  const params: Readonly<Record<string, string>> = Object.fromEntries(entries)
  const checked = EventQueryParams.safeParse(params)
  if (!checked.success) {
    const [issue] = checked.error.issues
    throw new Refused({ code: 'invalid-query', detail: `${issue?.path.join('.')}: ${issue?.message}` })
  }
  const extra = Object.fromEntries(EXTRA.flatMap((each) => typedAs(query, each)))
  const narrowed = name === 'events' && extra.routine === undefined && Object.keys(typed).every(isTime)
  const filter = narrowed ? { ...checked.data, types: [...typesThat(({ routine }) => routine !== true)] } : checked.data
  return { filter, typed, extra, narrowed, asOf: asOfIn(extra.asOf) }
}

const EXTRA = ['by', 'seed', 'routine', 'zone', 'asOf'] as const

function typedAs(query: Readonly<Record<string, unknown>>, name: string): readonly (readonly [string, string])[] {
  const value = query[name]
  return typeof value === 'string' ? [[name, value]] : []
}

/** The called function refuses a size beyond that of the log. */
export function asOfIn(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new Refused({ code: 'invalid-query', detail: 'asOf: give a number of events of the log, 1 or more' })
}

const isTime = (name: string): boolean => AUDIT_FILTERS.find((filter) => filter.name === name)?.input === 'time'
