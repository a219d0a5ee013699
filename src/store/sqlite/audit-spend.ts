/** @module Spend, grouped. Sums are exact: whole units and fractions are summed separately, as integers. */
import type { AuditRow } from '../../../schemas/audit-fields.ts'
import { MONEY_SCALE } from '../../../schemas/money.ts'
import {
  type AuditFilter,
  type AuditIndex,
  type AuditView,
  type BlockPage,
  type KeyPage,
  type RunPlace,
  type SpendBy,
  type SpendGroup,
  type SpendWindow,
  SUM_BLOCK_LEAVES,
  SUMMED_TIME_CHARS,
  type SummedBy,
  type SummedFilter,
} from '../audit-index.ts'
import { WITHIN, type WindowPage } from './audit-groups.ts'
import { conditionsOf } from './audit-rows.ts'
import type { Database } from './open.ts'

const SPEND_KEYS: Readonly<Record<SpendBy, string>> = {
  run: "ifnull(e.run, '')",
  agent: 'c.agent',
  model: "ifnull(c.model, '')",
  day: 'substr(e.time, 1, 10)',
  month: 'substr(e.time, 1, 7)',
  tenant: 'e.tenant',
}

/** The keys to sum by, for the stored sums. */
const SUM_KEYS: Readonly<Record<SummedBy, string>> = {
  agent: 'agent',
  model: "ifnull(model, '')",
  day: 'substr(hour, 1, 10)',
  month: 'substr(hour, 1, 7)',
  tenant: 'tenant',
}

interface SpendColumns {
  readonly key: string
  readonly tokens: bigint
  readonly whole: bigint
  readonly nano: bigint
  readonly estimatedTokens: bigint
  readonly estimatedWhole: bigint
  readonly estimatedNano: bigint
  readonly currency: string
}

const AMOUNTS = `ifnull(currency, '') AS currency, sum(tokens) AS tokens, sum(whole) AS whole, sum(nano) AS nano,
  sum(tokens * estimated) AS estimatedTokens, sum(whole * estimated) AS estimatedWhole, sum(nano * estimated) AS estimatedNano`

/** Restricts groups to those after a key and a currency. */
const beyond = (after: KeyPage['after']): string => (after === undefined ? '' : 'HAVING (key, currency) > (?, ?)')
const placeOf = (after: KeyPage['after']): readonly unknown[] => (after === undefined ? [] : [after[0], after[1]])

const ELSEWHERE = { agent: 'c.agent', provider: 'c.provider', model: 'c.model' } as const

export function spendGroups(
  db: Database,
  view: AuditView,
  { filter, page }: { readonly filter: AuditFilter; readonly page: WindowPage & { readonly by: SpendBy } },
): readonly SpendGroup[] {
  const { sql, values } = conditionsOf(view, filter, { elsewhere: ELSEWHERE })
  const { by, after, limit, window } = page
  const rows = db
    .prepare<unknown[], SpendColumns>(
      `SELECT ${SPEND_KEYS[by]} AS key, ${AMOUNTS} FROM events e JOIN charges c ON c.seq = e.seq WHERE ${sql} ${WITHIN}
        GROUP BY 1, 2 ${beyond(after)} ORDER BY 1, 2 LIMIT ?`,
    )
    .safeIntegers()
    .all(...values, window.after, window.upTo, ...placeOf(after), limit)
  return rows.map(groupOf)
}

function groupOf(columns: SpendColumns): SpendGroup {
  const { key, tokens, whole, nano, currency, estimatedTokens, estimatedWhole, estimatedNano } = columns
  return {
    key,
    tokens: Number(tokens),
    costNano: whole * MONEY_SCALE + nano,
    estimatedTokens: Number(estimatedTokens),
    estimatedNano: estimatedWhole * MONEY_SCALE + estimatedNano,
    ...(currency !== '' && { currency }),
  }
}

/** Uses the index on run and revision: the cost of a page depends on the size of its runs. */
export function spendOfRuns(
  db: Database,
  view: AuditView,
  {
    filter,
    walk,
  }: { readonly filter: AuditFilter; readonly walk: { readonly after: RunPlace; readonly rows: number } },
): SpendWindow {
  const { after, rows } = walk
  const stretch = `SELECT seq, run, revision FROM events
    WHERE tenant = ? AND run IS NOT NULL AND leaf < ? AND (run, revision) > (?, ?) ORDER BY run, revision LIMIT ?`
  const bounds = [view.tenant, view.size, after.run, after.revision, rows]
  const places = db
    .prepare<unknown[], RunPlace & { readonly rows: number }>(
      `SELECT run, revision, count(*) OVER () AS rows FROM (${stretch}) ORDER BY run DESC, revision DESC LIMIT 1`,
    )
    .get(...bounds)
  if (places === undefined) return { groups: [] }
  const { sql, values } = conditionsOf(view, filter, { elsewhere: ELSEWHERE })
  const found = db
    .prepare<unknown[], SpendColumns>(
      `SELECT s.run AS key, ${AMOUNTS} FROM (${stretch}) s JOIN charges c ON c.seq = s.seq JOIN events e ON e.seq = s.seq
        WHERE ${sql} GROUP BY 1, 2 ORDER BY 1, 2`,
    )
    .safeIntegers()
    .all(...bounds, ...values)
  const { run, revision } = places
  return { groups: found.map(groupOf), ...(places.rows === rows && { next: { run, revision } }) }
}

/** Sums over whole blocks of a log; each is added once the log has grown past its block, and never changes. */
export class SpendSums {
  readonly #db: Database
  readonly #add

  constructor(db: Database) {
    this.#db = db
    this.#add = db.prepare<unknown[]>(
      `INSERT INTO spend_sums (tenant, block, hour, agent, provider, model, currency, estimated, tokens, whole, nano)
        SELECT e.tenant, ?, substr(e.time, 1, ${SUMMED_TIME_CHARS}), c.agent, c.provider, c.model, c.currency, c.estimated, sum(c.tokens), sum(c.whole), sum(c.nano)
        FROM events e JOIN charges c ON c.seq = e.seq WHERE e.tenant = ? AND e.leaf BETWEEN ? AND ? GROUP BY 3, 4, 5, 6, 7, 8`,
    )
  }

  /** Call it for rows that were just added, in the same transaction. Returns the first and last rowid of the sums that were added, per block. */
  add(rows: readonly Pick<AuditRow, 'tenant' | 'leaf'>[]): readonly number[] {
    const added: number[] = []
    for (const { tenant, leaf } of rows) {
      if ((leaf + 1) % SUM_BLOCK_LEAVES !== 0) continue
      const block = (leaf + 1) / SUM_BLOCK_LEAVES - 1
      const { changes, lastInsertRowid } = this.#add.run(block, tenant, block * SUM_BLOCK_LEAVES, leaf)
      if (changes > 0) added.push(Number(lastInsertRowid) - changes + 1, Number(lastInsertRowid))
    }
    return added
  }

  groups({ tenant, size }: AuditView, filter: SummedFilter, page: BlockPage): readonly SpendGroup[] {
    const { by, after, limit, blocks, hours, except } = page
    const lastBlock = Math.floor(size / SUM_BLOCK_LEAVES) - 1
    const filters = Object.entries(filter).filter(([, value]) => value !== undefined)
    const bounds = [
      { sql: 'hour >= ?', value: hours.from },
      { sql: 'hour < ?', value: hours.before },
    ].filter(({ value }) => value !== undefined)
    const others = except.length === 0 ? '' : `AND NOT EXISTS (${AT_HOURS(except.length)} AND o.block = s.block)`
    const conditions = [...filters.map(([name]) => `AND ${name} = ?`), ...bounds.map(({ sql }) => `AND ${sql}`)]
    return this.#db
      .prepare<unknown[], SpendColumns>(
        `SELECT ${SUM_KEYS[by]} AS key, ${AMOUNTS} FROM spend_sums s WHERE tenant = ? AND block > ? AND block <= ? ${conditions.join(' ')} ${others}
          GROUP BY 1, 2 ${beyond(after)} ORDER BY 1, 2 LIMIT ?`,
      )
      .safeIntegers()
      .all(
        ...[
          tenant,
          blocks.after,
          Math.min(blocks.upTo, lastBlock),
          ...filters.map(([, value]) => value),
          ...bounds.map(({ value }) => value),
        ],
        ...(except.length === 0 ? [] : [tenant, ...except]),
        ...[...placeOf(after), limit],
      )
      .map(groupOf)
  }

  blocksAt({ tenant, size }: AuditView, hours: readonly string[]): ReturnType<AuditIndex['spendBlocksAt']> {
    if (hours.length === 0) return []
    return this.#db
      .prepare<unknown[], number>(
        `SELECT DISTINCT block FROM (${AT_HOURS(hours.length)}) WHERE block < ? ORDER BY block`,
      )
      .pluck()
      .all(tenant, ...hours, Math.floor(size / SUM_BLOCK_LEAVES))
  }
}

const AT_HOURS = (count: number): string =>
  `SELECT o.block FROM spend_sums o WHERE o.tenant = ? AND o.hour IN (${Array.from({ length: count }, () => '?').join(', ')})`
