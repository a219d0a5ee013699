/** @module Rows of the auditors' index as columns, and the conditions a filter becomes. Conditions are fixed text; a request gives values only. */
import type { AuditFilter, AuditRow, AuditView } from '../audit-index.ts'

export interface AuditColumns {
  readonly tenant: string
  readonly leaf: number
  readonly stream: string
  readonly run: string | null
  readonly revision: number
  readonly position: string
  readonly id: string
  readonly type: string
  readonly time: string
  readonly actor: string
  readonly principal: string
  readonly kid: string
  readonly agent: string | null
  readonly tool: string | null
  readonly call: string | null
  readonly reservation: string | null
  readonly compensates: string | null
  readonly provider: string | null
  readonly model: string | null
  readonly verdict: string | null
  /** Between line feeds, before the first and after the last: no name holds one that could pass for a border. */
  readonly rules: string | null
  readonly clocked: number
}

const OPTIONAL = ['run', 'agent', 'tool', 'call', 'reservation', 'compensates', 'provider', 'model', 'verdict'] as const
const RULE_BORDER = '\n'

export function toAuditColumns(row: AuditRow): AuditColumns {
  const optional = Object.fromEntries(OPTIONAL.map((name) => [name, row[name] ?? null]))
  const rules = row.rules.length === 0 ? null : RULE_BORDER + row.rules.map(ruleText).join(RULE_BORDER) + RULE_BORDER
  return { ...row, ...optional, rules, clocked: row.clocked ? 1 : 0 } as AuditColumns
}

export function fromAuditColumns(columns: AuditColumns): AuditRow {
  const present = Object.entries(columns).filter(([, value]) => value !== null)
  const rules = columns.rules?.split(RULE_BORDER).filter((rule) => rule !== '') ?? []
  return { ...Object.fromEntries(present), rules, clocked: columns.clocked === 1 } as unknown as AuditRow
}

export interface Conditions {
  readonly sql: string
  readonly values: readonly unknown[]
}

/** Columns that a filter may compare; `of` says where each stands. */
type Columns = Partial<Record<'agent' | 'provider' | 'model', string>>

/** `e` is the table of events. */
export function conditionsOf({ tenant, size }: AuditView, filter: AuditFilter, of: Columns = {}): Conditions {
  const { types, rule, clocked, run, actor, principal, agent, tool, call, verdict, provider, model, kid } = filter
  const typeList = types === undefined ? '' : types.map(() => '?').join(', ')
  const conditions: readonly (readonly [sql: string, values: readonly unknown[] | undefined])[] = [
    ['e.tenant = ? AND e.leaf < ?', [tenant, size]],
    [`e.type IN (${typeList})`, types],
    ['e.run = ?', one(run)],
    ['e.actor = ?', one(actor)],
    ['e.principal = ?', one(principal)],
    [`${of.agent ?? 'e.agent'} = ?`, one(agent)],
    ['e.tool = ?', one(tool)],
    ['e.call = ?', one(call)],
    ['e.reservation = ?', one(filter.reservation)],
    ['e.verdict = ?', one(verdict)],
    [`${of.provider ?? 'e.provider'} = ?`, one(provider)],
    [`${of.model ?? 'e.model'} = ?`, one(model)],
    ['e.kid = ?', one(kid)],
    ['e.time >= ?', one(filter.since)],
    ['e.time < ?', one(filter.until)],
    [
      'e.rules IS NOT NULL AND instr(e.rules, ?) > 0',
      rule === undefined ? undefined : one(RULE_BORDER + ruleText(rule) + RULE_BORDER),
    ],
    ['e.clocked = 1', clocked === true ? [] : undefined],
  ]
  const used = conditions.flatMap(([sql, values]) => (values === undefined ? [] : [{ sql, values }]))
  return { sql: used.map(({ sql }) => sql).join(' AND '), values: used.flatMap(({ values }) => values) }
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

function one(value: string | undefined): readonly unknown[] | undefined {
  return value === undefined ? undefined : [value]
}

function ruleText(rule: string): string {
  return rule.replaceAll(RULE_BORDER, ' ')
}
