/** @module Questions about many events at once: runs, spending and keys, grouped. Every one is asked of the first events of a log and no others. */
import { type EventType, typesThat } from '../../../schemas/events.ts'
import { MONEY_SCALE } from '../../../schemas/money.ts'
import type { AuditFilter, AuditView, KeyGroup, KeyPage, RunGroup, SpendBy, SpendGroup } from '../audit-index.ts'
import { conditionsOf } from './audit-rows.ts'
import type { Database } from './open.ts'

const ENDS = typesThat(({ changes }) => changes.run !== undefined && changes.run !== 'open')
const REJECTS = 'EnvelopeRejected' satisfies EventType

/** Of a run's last end: its place in front makes the latest one the greatest text. */
const LAST_END = `max(CASE WHEN e.type IN ('${ENDS.join("', '")}') THEN printf('%015d %s', e.leaf, e.type) END)`
const LAST_END_PLACE = 16

type RunFilter = Pick<AuditFilter, 'since' | 'until' | 'run'>

export function runGroups(
  db: Database,
  view: AuditView,
  { filter, page }: { readonly filter: RunFilter; readonly page: KeyPage & { readonly openOnly?: boolean } },
): readonly RunGroup[] {
  const { sql, values } = groupedRuns(view, filter, page)
  const rows = db
    .prepare<unknown[], RunGroup & { readonly lastEnd: string | null }>(`${sql} ORDER BY e.run LIMIT ?`)
    .all(...values, page.limit)
  return rows.map(({ lastEnd, ...row }) => ({ ...row, ...(lastEnd && { end: lastEnd.slice(LAST_END_PLACE) }) }))
}

export function countRuns(
  db: Database,
  view: AuditView,
  { filter, page }: { readonly filter: RunFilter; readonly page: { readonly openOnly: boolean } },
): number {
  const { sql, values } = groupedRuns(view, filter, { ...page, after: undefined })
  return Number(
    db
      .prepare(`SELECT count(*) FROM (${sql})`)
      .pluck()
      .get(...values),
  )
}

function groupedRuns(
  { tenant, size }: AuditView,
  { since, until, run }: RunFilter,
  { after, openOnly }: Pick<KeyPage, 'after'> & { readonly openOnly?: boolean },
): { readonly sql: string; readonly values: readonly unknown[] } {
  const having = [
    ...(since === undefined ? [] : ['firstTime >= ?']),
    ...(until === undefined ? [] : ['firstTime < ?']),
    ...(openOnly === true ? ['lastEnd IS NULL'] : []),
  ]
  const sql = `SELECT e.run, count(*) AS events, min(e.revision) AS firstRevision, max(e.revision) AS lastRevision,
      min(e.time) AS firstTime, max(e.time) AS lastTime, sum(e.type = '${REJECTS}') AS rejections, ${LAST_END} AS lastEnd
    FROM events e WHERE e.tenant = ? AND e.run IS NOT NULL AND e.leaf < ?
      ${run === undefined ? '' : 'AND e.run = ?'} ${after === undefined ? '' : 'AND e.run > ?'}
    GROUP BY e.run ${having.length === 0 ? '' : `HAVING ${having.join(' AND ')}`}`
  return { sql, values: [tenant, size, run, after?.[0], since, until].filter((value) => value !== undefined) }
}

/** Revisions without a row, below the run's last. */
export function missingRevisions(
  db: Database,
  { tenant, size }: AuditView,
  { run, limit }: { readonly run: string; readonly limit: number },
): readonly number[] {
  const found = db
    .prepare<unknown[], number>(
      'SELECT revision FROM events WHERE tenant = ? AND run = ? AND leaf < ? ORDER BY revision',
    )
    .pluck()
  const missing: number[] = []
  let next = 0
  for (const revision of found.iterate(tenant, run, size)) {
    for (; next < revision && missing.length < limit; next += 1) missing.push(next)
    if (missing.length === limit) break
    next = revision + 1
  }
  return missing
}

const SPEND_KEYS: Readonly<Record<SpendBy, string>> = {
  run: "ifnull(e.run, '')",
  agent: 'c.agent',
  model: "ifnull(c.model, '')",
  day: 'substr(e.time, 1, 10)',
  month: 'substr(e.time, 1, 7)',
  tenant: 'e.tenant',
}

interface SpendColumns {
  readonly key: string
  readonly tokens: bigint
  readonly whole: bigint
  readonly nano: bigint
  readonly currency: string
}

/** Sums stay exact: units and their fractions are summed apart, as integers. */
export function spendGroups(
  db: Database,
  view: AuditView,
  { filter, page }: { readonly filter: AuditFilter; readonly page: KeyPage & { readonly by: SpendBy } },
): readonly SpendGroup[] {
  const { sql, values } = conditionsOf(view, filter, { agent: 'c.agent', provider: 'c.provider', model: 'c.model' })
  const { by, after, limit } = page
  const rows = db
    .prepare<unknown[], SpendColumns>(
      `SELECT ${SPEND_KEYS[by]} AS key, ifnull(c.currency, '') AS currency, sum(c.tokens) AS tokens, sum(c.whole) AS whole, sum(c.nano) AS nano
        FROM events e JOIN charges c ON c.seq = e.seq WHERE ${sql}
        GROUP BY 1, 2 ${after === undefined ? '' : 'HAVING (key, currency) > (?, ?)'} ORDER BY 1, 2 LIMIT ?`,
    )
    .safeIntegers()
    .all(...values, ...(after === undefined ? [] : [after[0], after[1]]), limit)
  return rows.map(({ key, tokens, whole, nano, currency }) => ({
    key,
    tokens: Number(tokens),
    costNano: whole * MONEY_SCALE + nano,
    ...(currency !== '' && { currency }),
  }))
}

export function keyGroups(
  db: Database,
  view: AuditView,
  { filter, page }: { readonly filter: AuditFilter; readonly page: KeyPage },
): readonly KeyGroup[] {
  const { sql, values } = conditionsOf(view, filter)
  const { after, limit } = page
  return db
    .prepare<unknown[], KeyGroup>(
      `SELECT e.kid, count(*) AS events, min(e.time) AS firstTime, max(e.time) AS lastTime FROM events e WHERE ${sql}
        ${after === undefined ? '' : 'AND e.kid > ?'} GROUP BY e.kid ORDER BY e.kid LIMIT ?`,
    )
    .all(...values, ...(after === undefined ? [] : [after[0]]), limit)
}
