/** @module Rows of the run list as columns, and the query that lists them. Conditions are fixed text; a request gives values only. */
import type { RunFilter, RunRow } from '../view-store.ts'

export interface RunColumns {
  readonly tenant: string
  readonly run_id: string
  readonly name: string
  readonly status: string
  /** JSON arrays of strings. */
  readonly tags: string
  readonly agents: string
  readonly actor: string
  readonly started_at: string
  readonly updated_at: string
  readonly revision: number
  readonly step: number
  readonly rejections: number
  readonly calls: number
  readonly waiting: number
  readonly open_calls: number
  readonly in_doubt_calls: number
  readonly lease_until: string | null
  readonly compensation: string | null
  readonly tokens: number
  readonly cost: string | null
  readonly currency: string | null
  readonly fold: string
}

export function toRunColumns(row: RunRow): RunColumns {
  const { tenant, name, status, actor, revision, step, rejections, calls, waiting, tokens, fold } = row
  return {
    ...{ tenant, name, status, actor, revision, step, rejections, calls, waiting, tokens, fold },
    run_id: row.runId,
    tags: JSON.stringify(row.tags),
    agents: JSON.stringify(row.agents),
    started_at: row.startedAt,
    updated_at: row.updatedAt,
    open_calls: row.openCalls,
    in_doubt_calls: row.inDoubtCalls,
    lease_until: row.leaseUntil ?? null,
    compensation: row.compensation ?? null,
    cost: row.cost ?? null,
    currency: row.currency ?? null,
  }
}

export function fromRunRow(columns: RunColumns): RunRow {
  const { tenant, name, status, actor, revision, step, rejections, calls, waiting, tokens, cost, currency, fold } =
    columns
  return {
    ...{ tenant, name, status, actor, revision, step, rejections, calls, waiting, tokens, fold },
    runId: columns.run_id,
    tags: JSON.parse(columns.tags) as string[],
    agents: JSON.parse(columns.agents) as string[],
    startedAt: columns.started_at,
    updatedAt: columns.updated_at,
    openCalls: columns.open_calls,
    inDoubtCalls: columns.in_doubt_calls,
    ...(columns.lease_until === null ? {} : { leaseUntil: columns.lease_until }),
    ...(columns.compensation === null ? {} : { compensation: columns.compensation }),
    ...(cost === null ? {} : { cost }),
    ...(currency === null ? {} : { currency }),
  }
}

/** Newest first, along the index on (tenant, started_at, run_id), so that a page costs the same wherever it starts. */
export function runQuery(filter: RunFilter): { readonly sql: string; readonly values: readonly unknown[] } {
  const { tenant, status, name, tag, agent, compensation, refused, since, until, after, limit } = filter
  const { waiting, withOpenCalls, inDoubt, leaseOverAt } = filter
  const conditions: readonly (readonly [sql: string, value: string | undefined])[] = [
    ['tenant = ?', tenant],
    ['status = ?', status],
    ['name = ?', name],
    ['EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?)', tag],
    ['EXISTS (SELECT 1 FROM json_each(agents) WHERE value = ?)', agent],
    ['compensation = ?', compensation],
    ['lease_until < ?', leaseOverAt],
    ['started_at >= ?', since],
    ['started_at < ?', until],
  ]
  const used = conditions.filter(([, value]) => value !== undefined)
  const texts = used.map(([sql]) => sql)
  const values: unknown[] = used.map(([, value]) => value)
  if (refused === true) texts.push('rejections > 0')
  if (waiting === true) texts.push('waiting > 0')
  // An open call is the condition of the partial index.
  if (withOpenCalls === true || inDoubt === true || leaseOverAt !== undefined) texts.push('open_calls > 0')
  if (inDoubt === true) texts.push('in_doubt_calls > 0')
  if (after !== undefined) {
    texts.push('(started_at, run_id) < (?, ?)')
    values.push(after.startedAt, after.runId)
  }
  const sql = `SELECT * FROM runs WHERE ${texts.join(' AND ')} ORDER BY started_at DESC, run_id DESC LIMIT ?`
  return { sql, values: [...values, limit] }
}
