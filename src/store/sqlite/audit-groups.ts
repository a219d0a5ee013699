/** @module Questions about many events at once: runs, spending and keys, grouped. Every one is asked of the first events of a log and no others. */
import { type EventType, typesThat } from '../../../schemas/events.ts'
import { MONEY_SCALE } from '../../../schemas/money.ts'
import type {
  AuditFilter,
  AuditView,
  KeyGroup,
  KeyPage,
  LeafWindow,
  MissingStretch,
  RunGroup,
  RunPlace,
  RunStretch,
  SpendBy,
  SpendGroup,
} from '../audit-index.ts'
import { conditionsOf } from './audit-rows.ts'
import type { Database } from './open.ts'

const ENDS = typesThat(({ changes }) => changes.run !== undefined && changes.run !== 'open')
const REJECTS = 'EnvelopeRejected' satisfies EventType

/** Of a run's last end: its place in front makes the latest one the greatest text. */
const LAST_END = `max(CASE WHEN type IN ('${ENDS.join("', '")}') THEN printf('%015d %s', leaf, type) END)`
const LEAF_CHARS = 15

type StretchRow = Omit<RunGroup, 'end'> & { readonly lastEnd: string | null }

/** Along the index of runs and revisions, so that a stretch costs the same wherever it begins and however long a run is. */
export function runStretch(
  db: Database,
  { tenant, size }: AuditView,
  {
    run,
    after,
    rows,
  }: { readonly run: string | undefined; readonly after: RunPlace | undefined; readonly rows: number },
): RunStretch {
  const stretch = `SELECT run, revision, leaf, time, type FROM events
    WHERE tenant = ? AND run IS NOT NULL AND leaf < ? ${run === undefined ? '' : 'AND run = ?'}
      ${after === undefined ? '' : 'AND (run, revision) > (?, ?)'} ORDER BY run, revision LIMIT ?`
  const found = db
    .prepare<unknown[], StretchRow>(
      `SELECT run, count(*) AS events, min(revision) AS firstRevision, max(revision) AS lastRevision, min(time) AS firstTime,
        max(time) AS lastTime, sum(type = '${REJECTS}') AS rejections, ${LAST_END} AS lastEnd FROM (${stretch}) GROUP BY run ORDER BY run`,
    )
    .all(...[tenant, size, run, after?.run, after?.revision, rows].filter((value) => value !== undefined))
  const last = found.at(-1)
  const events = found.reduce((sum, group) => sum + group.events, 0)
  const groups = found.map(({ lastEnd, ...group }) => ({ ...group, ...(lastEnd !== null && { end: endOf(lastEnd) }) }))
  const isOver = last === undefined || events < rows
  return { groups, ...(!isOver && { next: { run: last.run, revision: last.lastRevision } }) }
}

function endOf(text: string): { readonly leaf: number; readonly type: string } {
  return { leaf: Number(text.slice(0, LEAF_CHARS)), type: text.slice(LEAF_CHARS + 1) }
}

/** Revisions without a row, below the run's last. */
export function missingRevisions(
  db: Database,
  { tenant, size }: AuditView,
  {
    run,
    from,
    rows,
    limit,
  }: { readonly run: string; readonly from: number; readonly rows: number; readonly limit: number },
): MissingStretch {
  const found = db
    .prepare<unknown[], number>(
      'SELECT revision FROM events WHERE tenant = ? AND run = ? AND leaf < ? AND revision >= ? ORDER BY revision LIMIT ?',
    )
    .pluck()
    .all(tenant, run, size, from, rows)
  const missing: number[] = []
  let next = from
  for (const revision of found) {
    for (; next < revision && missing.length < limit; next += 1) missing.push(next)
    next = revision + 1
  }
  const isOver = found.length < rows || missing.length === limit
  return { missing, ...(!isOver && { next }) }
}

type WindowPage = KeyPage & { readonly window: LeafWindow }

const WITHIN = 'AND e.leaf > ? AND e.leaf <= ?'

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
  { filter, page }: { readonly filter: AuditFilter; readonly page: WindowPage & { readonly by: SpendBy } },
): readonly SpendGroup[] {
  const { sql, values } = conditionsOf(view, filter, { agent: 'c.agent', provider: 'c.provider', model: 'c.model' })
  const { by, after, limit, window } = page
  const rows = db
    .prepare<unknown[], SpendColumns>(
      `SELECT ${SPEND_KEYS[by]} AS key, ifnull(c.currency, '') AS currency, sum(c.tokens) AS tokens, sum(c.whole) AS whole, sum(c.nano) AS nano
        FROM events e JOIN charges c ON c.seq = e.seq WHERE ${sql} ${WITHIN}
        GROUP BY 1, 2 ${after === undefined ? '' : 'HAVING (key, currency) > (?, ?)'} ORDER BY 1, 2 LIMIT ?`,
    )
    .safeIntegers()
    .all(...values, window.after, window.upTo, ...(after === undefined ? [] : [after[0], after[1]]), limit)
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
  { filter, page }: { readonly filter: AuditFilter; readonly page: WindowPage },
): readonly KeyGroup[] {
  const { sql, values } = conditionsOf(view, filter)
  const { after, limit, window } = page
  return db
    .prepare<unknown[], KeyGroup>(
      `SELECT e.kid, count(*) AS events, min(e.time) AS firstTime, max(e.time) AS lastTime FROM events e WHERE ${sql} ${WITHIN}
        ${after === undefined ? '' : 'AND e.kid > ?'} GROUP BY e.kid ORDER BY e.kid LIMIT ?`,
    )
    .all(...values, window.after, window.upTo, ...(after === undefined ? [] : [after[0]]), limit)
}
