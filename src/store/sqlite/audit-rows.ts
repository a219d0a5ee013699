/** @module Rows of the auditors' index as columns, and the conditions a filter becomes. Conditions are fixed text; a request gives values only. */
import {
  AUDIT_COLUMNS,
  AUDIT_FIELDS,
  AUDIT_FILTERS,
  type AuditColumn,
  type AuditRow,
  type NamedFilter,
} from '../../../schemas/audit-fields.ts'
import { MONEY_SCALE } from '../../../schemas/money.ts'
import type { AuditFilter, AuditView, ChargeRow } from '../audit-index.ts'

/** What SQLite keeps of a field; null: the event says nothing about it. */
export type AuditColumns = Readonly<Record<AuditColumn, string | number | null>>

/** Stands between the texts of a list, before the first and after the last: none of them holds one. */
const LIST_BORDER = '\n'

/** In the order of `AUDIT_COLUMNS`: an index that is being made binds millions of them, and by name takes twice as long. */
export function toAuditColumns(row: AuditRow): readonly (string | number | null)[] {
  return AUDIT_COLUMNS.map((name) => toColumn(row[name]))
}

function toColumn(value: AuditRow[AuditColumn]): string | number | null {
  if (value === undefined || typeof value === 'string' || typeof value === 'number') return value ?? null
  if (typeof value === 'boolean') return value ? 1 : 0
  return value.length === 0 ? null : LIST_BORDER + value.map(listText).join(LIST_BORDER) + LIST_BORDER
}

export function fromAuditColumns(columns: AuditColumns): AuditRow {
  const present = AUDIT_COLUMNS.flatMap((name) => {
    const value = fromColumn(AUDIT_FIELDS[name].column, columns[name])
    return value === null ? [] : [[name, value]]
  })
  return Object.fromEntries(present)
}

function fromColumn(kind: (typeof AUDIT_FIELDS)[AuditColumn]['column'], value: string | number | null): unknown {
  if (kind === 'flag') return value === 1
  if (kind !== 'list') return value
  return value === null ? [] : String(value).split(LIST_BORDER).slice(1, -1)
}

export interface Conditions {
  readonly sql: string
  readonly values: readonly unknown[]
}

/** Columns of another table that filters compare instead of those of the events. */
type Elsewhere = { readonly [F in AuditColumn]?: string }

/** `e` is the table of events. Words are asked of their own index (`matchText`). */
export function conditionsOf({ tenant, size }: AuditView, filter: AuditFilter, elsewhere: Elsewhere = {}): Conditions {
  const used = AUDIT_FILTERS.flatMap((each): Conditions[] => {
    const { name, field } = each
    const value = name === 'text' ? undefined : filter[name]
    const column = (field !== 'words' && elsewhere[field]) || `e.${field}`
    return value === undefined ? [] : [condition(each, column, value)]
  })
  const { reservation, clocked } = filter
  if (reservation !== undefined) used.push({ sql: 'e.reservation = ?', values: [reservation] })
  if (clocked === true) used.push({ sql: 'e.clocked = 1', values: [] })
  const all: readonly Conditions[] = [{ sql: 'e.tenant = ? AND e.leaf < ?', values: [tenant, size] }, ...used]
  return { sql: all.map(({ sql }) => sql).join(' AND '), values: all.flatMap(({ values }) => values) }
}

function condition({ compare }: NamedFilter, column: string, value: string | readonly string[]): Conditions {
  if (compare === 'in') return { sql: `${column} IN (${Array.from(value, () => '?').join(', ')})`, values: [...value] }
  if (compare !== 'contains') return { sql: `${column} ${compare} ?`, values: [value] }
  return {
    sql: `${column} IS NOT NULL AND instr(${column}, ?) > 0`,
    values: [LIST_BORDER + listText(String(value)) + LIST_BORDER],
  }
}

/** One word for each tenant, which no other tenant's word begins. */
export function tenantWord(tenant: string): string {
  return `t${Buffer.from(tenant).toString('hex')}`
}

/** Words hold letters and digits alone, so that no syntax of the index can come from a search. */
export function matchText(tenant: string, phrases: readonly (readonly string[])[]): string {
  const quoted = phrases.map((words) => `"${words.join(' ').replaceAll('"', '')}"`)
  return `tenant : "${tenantWord(tenant)}" AND body : (${quoted.join(' AND ')})`
}

function listText(text: string): string {
  return text.replaceAll(LIST_BORDER, ' ')
}

export function chargeColumns({ agent, tokens, costNano, currency, provider, model }: ChargeRow) {
  return {
    agent,
    tokens,
    whole: costNano / MONEY_SCALE,
    nano: costNano % MONEY_SCALE,
    currency: currency ?? null,
    provider: provider ?? null,
    model: model ?? null,
  }
}
