/** @module Rows of the auditors' index as columns, and the conditions a filter becomes. Conditions are fixed text; a request gives values only. */
import {
  AUDIT_COLUMNS,
  AUDIT_FIELDS,
  AUDIT_FILTERS,
  type AuditColumn,
  type AuditRow,
  type NamedFilter,
  PART_FIELDS,
} from '../../../schemas/audit-fields.ts'
import { MONEY_SCALE } from '../../../schemas/money.ts'
import { inOneCase } from '../../../schemas/one-case.ts'
import type { AuditFilter, AuditView, ChargeRow } from '../audit-index.ts'
import { HAS_PART, INDEXED_NAMES, type NamesWithPart } from './audit-names.ts'

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
type OtherColumns = { readonly [F in AuditColumn]?: string }

interface Along {
  readonly elsewhere?: OtherColumns
  /** Absent: each row is looked at. */
  readonly names?: NamesWithPart | undefined
}

/** `e` is the table of events. Words are asked of their own index (`matchText`). */
export function conditionsOf(view: AuditView, filter: AuditFilter, { elsewhere = {}, names }: Along = {}): Conditions {
  const { tenant, size } = view
  const used = AUDIT_FILTERS.flatMap((each): Conditions[] => {
    const { name, field, compare } = each
    const value = name === 'text' ? undefined : filter[name]
    if (value === undefined) return []
    const columnOf = (name: AuditColumn): string => elsewhere[name] ?? `e.${name}`
    const partOf = (name: AuditColumn): Conditions => {
      const known = elsewhere[name] === undefined ? names?.of(view, name, String(value)) : undefined
      return known === undefined ? withPart(columnOf(name), String(value)) : among(columnOf(name), known)
    }
    if (compare === 'any-part') return [anyOf(PART_FIELDS.map(partOf))]
    if (field === 'words' || field === 'names') return []
    return [compare === 'part' ? partOf(field) : condition(each, columnOf(field), value)]
  })
  const { reservation, clocked } = filter
  if (reservation !== undefined) used.push({ sql: 'e.reservation = ?', values: [reservation] })
  if (clocked === true) used.push({ sql: 'e.clocked = 1', values: [] })
  const all: readonly Conditions[] = [{ sql: 'e.tenant = ? AND e.leaf < ?', values: [tenant, size] }, ...used]
  return { sql: all.map(({ sql }) => sql).join(' AND '), values: all.flatMap(({ values }) => values) }
}

/** Beside these no filter has a better index. */
const WITH_TYPES: ReadonlySet<string> = new Set(['types', 'since', 'until'])
/** These have an index that SQLite takes by itself. */
const WITH_INDEX = ['run', 'actor', 'principal', 'agent', 'tool', 'call', 'approval', 'reservation'] as const

/** Of several types, or names, SQLite would rather look at every row of the log in its order, and find none. */
export function eventsBy(
  filter: AuditFilter,
  along?: { readonly view: AuditView; readonly names: NamesWithPart },
): string {
  const filters = Object.entries(filter).flatMap(([name, value]) => (value === undefined ? [] : [name]))
  if (filters.includes('types') && filters.every((name) => WITH_TYPES.has(name)))
    return 'events e INDEXED BY events_type'
  if (along === undefined || WITH_INDEX.some((name) => filter[name] !== undefined)) return 'events e'
  const { view, names } = along
  const named = INDEXED_NAMES.find((name) => {
    const part = filter[`${name}Contains`]
    return part !== undefined && (names.of(view, name, part)?.length ?? 0) > 0
  })
  return named === undefined ? 'events e' : `events e INDEXED BY events_${named}`
}

function condition({ compare }: NamedFilter, column: string, value: string | readonly string[]): Conditions {
  if (compare === 'in') return among(column, [value].flat())
  if (compare !== 'contains') return { sql: `${column} ${compare} ?`, values: [value] }
  return {
    sql: `${column} IS NOT NULL AND instr(${column}, ?) > 0`,
    values: [LIST_BORDER + listText(String(value)) + LIST_BORDER],
  }
}

function among(column: string, values: readonly string[]): Conditions {
  if (values.length === 0) return { sql: 'false', values }
  return { sql: `${column} IN (${values.map(() => '?').join(', ')})`, values }
}

/** Ids of runs are ASCII, whose case SQLite knows itself. */
function withPart(column: string, part: string): Conditions {
  const values = [listText(inOneCase(part))]
  if (column === 'e.run') return { sql: '(e.run IS NOT NULL AND instr(lower(e.run), ?) > 0)', values }
  return { sql: `(${column} IS NOT NULL AND ${HAS_PART}(${column}, ?))`, values }
}

function anyOf(each: readonly Conditions[]): Conditions {
  return { sql: `(${each.map(({ sql }) => sql).join(' OR ')})`, values: each.flatMap(({ values }) => values) }
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
