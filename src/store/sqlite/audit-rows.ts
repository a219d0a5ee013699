/** @module Converts rows of the auditors' index to columns and filters to SQL conditions. The SQL is fixed text; a request supplies values only. */
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

/** A row as stored by SQLite; null if the event has no value for a field. */
export type AuditColumns = Readonly<Record<AuditColumn, string | number | null>>

/** Separator in a list column, also before the first and after the last text; no text contains it. */
const LIST_BORDER = '\n'

/** In the order of `AUDIT_COLUMNS`: a rebuild of the index binds millions of rows, and binding by name takes twice as long. */
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

/** Columns of another table to compare in place of those of `events`. */
type OtherColumns = { readonly [F in AuditColumn]?: string }

interface Along {
  readonly elsewhere?: OtherColumns
  /** If absent, each row is examined. */
  readonly names?: NamesWithPart | undefined
}

/** Builds the conditions; `e` is the table of events. Words are searched in their own index (`matchText`). */
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
  const { reservation, clocked, mark } = filter
  if (reservation !== undefined) used.push({ sql: 'e.reservation = ?', values: [reservation] })
  if (clocked === true) used.push({ sql: 'e.clocked = 1', values: [] })
  if (mark !== undefined) used.push(listed('e.marks', mark))
  const all: readonly Conditions[] = [{ sql: 'e.tenant = ? AND e.leaf < ?', values: [tenant, size] }, ...used]
  return { sql: all.map(({ sql }) => sql).join(' AND '), values: all.flatMap(({ values }) => values) }
}

/** For a filter on types, no better index exists if all other filters are among these. */
const WITH_TYPES: ReadonlySet<string> = new Set(['types', 'since', 'until'])
/** Fields with an index that SQLite chooses without a hint. */
const WITH_INDEX = ['run', 'actor', 'principal', 'agent', 'tool', 'call', 'approval', 'reservation'] as const

/** Chooses the index. For several types or names SQLite would otherwise scan all rows of the log in order, possibly without a match. */
export function eventsBy(
  filter: AuditFilter,
  along?: { readonly view: AuditView; readonly names: NamesWithPart },
): string {
  const filters = Object.entries(filter).flatMap(([name, value]) => (value === undefined ? [] : [name]))
  if (filters.includes('types') && filters.every((name) => WITH_TYPES.has(name)))
    return 'events e INDEXED BY events_type'
  if (filters.includes('mark') && filters.every((name) => name === 'mark' || WITH_TYPES.has(name)))
    return 'events e INDEXED BY events_marks'
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
  return listed(column, String(value))
}

/** Whether one text of a list column is this one. */
function listed(column: string, text: string): Conditions {
  return {
    sql: `${column} IS NOT NULL AND instr(${column}, ?) > 0`,
    values: [LIST_BORDER + listText(text) + LIST_BORDER],
  }
}

function among(column: string, values: readonly string[]): Conditions {
  if (values.length === 0) return { sql: 'false', values }
  return { sql: `${column} IN (${values.map(() => '?').join(', ')})`, values }
}

/** Run ids are ASCII, which SQLite's `lower` handles. */
function withPart(column: string, part: string): Conditions {
  const values = [listText(inOneCase(part))]
  if (column === 'e.run') return { sql: '(e.run IS NOT NULL AND instr(lower(e.run), ?) > 0)', values }
  return { sql: `(${column} IS NOT NULL AND ${HAS_PART}(${column}, ?))`, values }
}

function anyOf(each: readonly Conditions[]): Conditions {
  return { sql: `(${each.map(({ sql }) => sql).join(' OR ')})`, values: each.flatMap(({ values }) => values) }
}

/** One word per tenant, which is not a prefix of any other tenant's word. */
export function tenantWord(tenant: string): string {
  return `t${Buffer.from(tenant).toString('hex')}`
}

/** Words contain only letters and digits, so a search cannot inject query syntax of the index. */
export function matchText(tenant: string, phrases: readonly (readonly string[])[]): string {
  const quoted = phrases.map((words) => `"${words.join(' ').replaceAll('"', '')}"`)
  return `tenant : "${tenantWord(tenant)}" AND body : (${quoted.join(' AND ')})`
}

function listText(text: string): string {
  return text.replaceAll(LIST_BORDER, ' ')
}

export function chargeColumns({ agent, tokens, costNano, currency, provider, model, estimated }: ChargeRow) {
  return {
    agent,
    tokens,
    whole: costNano / MONEY_SCALE,
    nano: costNano % MONEY_SCALE,
    currency: currency ?? null,
    provider: provider ?? null,
    model: model ?? null,
    estimated: estimated === true ? 1 : 0,
  }
}
