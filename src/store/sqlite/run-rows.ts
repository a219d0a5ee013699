/** @module Converts rows of the run list to columns, and builds the query that lists them. The SQL is fixed text; a request supplies values only. */
import { parseJson } from '../../../schemas/json.ts'
import type { StuckState } from '../../../schemas/run-status.ts'
import { runSearchText, searchedText } from '../run-search-text.ts'
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
  readonly principal: string | null
  /** Text that `contains` searches: one text per line, case-folded. */
  readonly search: string
  readonly started_at: string
  readonly updated_at: string
  readonly revision: number
  readonly step: number
  readonly rejections: number
  readonly calls: number
  readonly waiting: number
  readonly approvals: number
  readonly suspects: number
  readonly open_calls: number
  readonly in_doubt_calls: number
  readonly lease_until: string | null
  readonly fence: number
  readonly due_at: string | null
  readonly carried_until: string | null
  readonly version: string | null
  /** JSON. */
  readonly stuck: string | null
  readonly compensation: string | null
  readonly tokens: number
  readonly cost: string | null
  readonly currency: string | null
  readonly fold: string
}

export function toRunColumns(row: RunRow): RunColumns {
  const { tenant, name, status, actor, revision, step, rejections, calls, waiting, approvals, tokens, fold } = row
  return {
    run_id: row.runId,
    ...{ tenant, name, status, actor, revision, step, rejections, calls, waiting, approvals, tokens, fold },
    principal: row.principal ?? null,
    search: runSearchText(row),
    tags: JSON.stringify(row.tags),
    agents: JSON.stringify(row.agents),
    started_at: row.startedAt,
    updated_at: row.updatedAt,
    suspects: row.suspects ? 1 : 0,
    open_calls: row.openCalls,
    in_doubt_calls: row.inDoubtCalls,
    lease_until: row.leaseUntil ?? null,
    fence: row.fence,
    due_at: row.dueAt ?? null,
    carried_until: row.carriedUntil ?? null,
    version: row.version ?? null,
    stuck: row.stuck === undefined ? null : JSON.stringify(row.stuck),
    compensation: row.compensation ?? null,
    cost: row.cost ?? null,
    currency: row.currency ?? null,
  }
}

export function fromRunRow(columns: RunColumns): RunRow {
  const { tenant, name, status, actor, revision, step, rejections, calls, waiting, approvals } = columns
  const { tokens, cost, currency, fold } = columns
  return {
    runId: columns.run_id,
    ...{ tenant, name, status, actor, revision, step, rejections, calls, waiting, approvals, tokens, fold },
    tags: parseJson(columns.tags) as string[],
    agents: parseJson(columns.agents) as string[],
    startedAt: columns.started_at,
    updatedAt: columns.updated_at,
    suspects: columns.suspects > 0,
    openCalls: columns.open_calls,
    inDoubtCalls: columns.in_doubt_calls,
    ...(columns.principal === null ? {} : { principal: columns.principal }),
    ...(columns.lease_until === null ? {} : { leaseUntil: columns.lease_until }),
    fence: columns.fence,
    ...(columns.due_at === null ? {} : { dueAt: columns.due_at }),
    ...(columns.carried_until === null ? {} : { carriedUntil: columns.carried_until }),
    ...(columns.version === null ? {} : { version: columns.version }),
    ...(columns.stuck === null ? {} : { stuck: parseJson<StuckState>(columns.stuck) }),
    ...(columns.compensation === null ? {} : { compensation: columns.compensation }),
    ...(cost === null ? {} : { cost }),
    ...(currency === null ? {} : { currency }),
  }
}

export interface RunQuery {
  /** Selects the matching rows among the next `looked` rows of an index. */
  readonly rows: string
  /** Selects the place of the last of these rows; returns no row if the index has no more. */
  readonly end: string
  /** Values of the conditions on the index rows; `filters` are those of the filter, for `rows` only. */
  readonly along: readonly unknown[]
  readonly filters: readonly unknown[]
}

/**
 * Newest first, along the index on (tenant, started_at, run_id) or one with fewer runs: a statement examines at most `looked` rows of it, however few of
 * them match, and wherever the page begins.
 */
export function runQuery(filter: RunFilter, looked: number): RunQuery {
  const { tenant, compensation, since, until, after, limit } = filter
  const hasOpenCalls = filter.withOpenCalls === true || filter.inDoubt === true || filter.leaseOverAt !== undefined
  const isWaiting = filter.waiting === true || filter.withApprovals === true
  const isStuck = filter.stuck === true && !isWaiting && !hasOpenCalls && compensation === undefined
  const isSuspect =
    filter.withSuspects === true && !isStuck && !isWaiting && !hasOpenCalls && compensation === undefined
  const along: Conditions = [
    ['tenant = ?', tenant],
    ['compensation = ?', compensation],
    ['started_at >= ?', since],
    ['started_at < ?', until],
    ['(started_at, run_id) < (?, ?)', after && [after.startedAt, after.runId]],
    // The condition of the partial index.
    ['open_calls > 0', hasOpenCalls && compensation === undefined ? [] : undefined],
    ['waiting > 0', isWaiting && compensation === undefined && !hasOpenCalls ? [] : undefined],
    ['stuck IS NOT NULL', isStuck ? [] : undefined],
    ['suspects > 0', isSuspect ? [] : undefined],
  ]
  const [index = 'runs_newest'] = [
    ...(compensation !== undefined ? ['runs_rolled_back'] : []),
    ...(hasOpenCalls ? ['runs_open_calls'] : []),
    ...(isWaiting ? ['runs_waiting'] : []),
    ...(isStuck ? ['runs_stuck'] : []),
    ...(isSuspect ? ['runs_suspects'] : []),
  ]
  const filters: Conditions = [
    ['r.status = ?', filter.status],
    ['r.name = ?', filter.name],
    ['instr(r.search, ?) > 0', filter.contains && searchedText(filter.contains)],
    ['EXISTS (SELECT 1 FROM json_each(r.tags) WHERE value = ?)', filter.tag],
    ['EXISTS (SELECT 1 FROM json_each(r.agents) WHERE value = ?)', filter.agent],
    ['r.lease_until < ?', filter.leaseOverAt],
    ['r.rejections > 0', filter.refused && []],
    ['r.waiting > 0', filter.waiting && []],
    ['r.stuck IS NOT NULL', filter.stuck && []],
    ['r.approvals > 0', filter.withApprovals && []],
    ['r.suspects > 0', filter.withSuspects && []],
    ['r.open_calls > 0', hasOpenCalls ? [] : undefined],
    ['r.in_doubt_calls > 0', filter.inDoubt && []],
  ]
  const order = 'ORDER BY started_at DESC, run_id DESC'
  const stretch = `FROM runs INDEXED BY ${index} WHERE ${textOf(along)} ${order}`
  return {
    rows: `SELECT r.* FROM (SELECT rowid AS place ${stretch} LIMIT ${looked}) CROSS JOIN runs r ON r.rowid = place
      WHERE ${textOf(filters) || 'true'} LIMIT ?`,
    end: `SELECT started_at AS startedAt, run_id AS runId ${stretch} LIMIT 1 OFFSET ${looked - 1}`,
    along: valuesOf(along),
    filters: [...valuesOf(filters), limit],
  }
}

/** Condition with its value or values; undefined if it was not requested. */
type Conditions = readonly (readonly [sql: string, value: string | readonly string[] | undefined])[]

const textOf = (conditions: Conditions): string =>
  conditions.flatMap(([sql, value]) => (value === undefined ? [] : [sql])).join(' AND ')

const valuesOf = (conditions: Conditions): readonly unknown[] => conditions.flatMap(([, value]) => value ?? [])
