/** @module Queries that group many events: by run and by key. Every query covers only the first events of a log, as its view defines. */
import type { EventType } from '../../../schemas/events.ts'
import type {
  AuditFilter,
  AuditView,
  KeyGroup,
  KeyPage,
  LeafWindow,
  MissingWindow,
  RunGroup,
  RunPart,
  RunStart,
  RunStarts,
} from '../audit-index.ts'
import { conditionsOf } from './audit-rows.ts'
import { RUN_ENDS } from './audit-schema.ts'
import type { Database } from './open.ts'

const REJECTS = 'EnvelopeRejected' satisfies EventType

/** The last end of a run: the leaf as prefix makes the latest end the greatest text. */
const LAST_END = `max(CASE WHEN type IN ('${RUN_ENDS.join("', '")}') THEN printf('%015d %s', leaf, type) END)`
const LEAF_CHARS = 15

type PartRow = Omit<RunGroup, 'run' | 'end'> & { readonly lastEnd: string | null }

/** Uses the index on run and revision, so that the cost of a part does not depend on the length of the run. */
export function runPart(
  db: Database,
  { tenant, size }: AuditView,
  { run, after, rows }: { readonly run: string; readonly after: number; readonly rows: number },
): RunPart {
  const part = `SELECT revision, leaf, time, type FROM events
    WHERE tenant = ? AND run = ? AND leaf < ? AND revision > ? ORDER BY revision LIMIT ?`
  const found = db
    .prepare<unknown[], PartRow>(
      `SELECT count(*) AS events, min(revision) AS firstRevision, max(revision) AS lastRevision, min(time) AS firstTime,
        max(time) AS lastTime, sum(type = '${REJECTS}') AS rejections, ${LAST_END} AS lastEnd FROM (${part})`,
    )
    .get(tenant, run, size, after, rows)
  if (found === undefined || found.events === 0) return {}
  const { lastEnd, ...group } = found
  const isOver = found.events < rows
  return {
    group: { run, ...group, ...(lastEnd !== null && { end: endOf(lastEnd) }) },
    ...(!isOver && { next: found.lastRevision }),
  }
}

/**
 * Steps from run to run with one index lookup each, regardless of the size of the runs. `isOpen` additionally reads the types of a run. Values: tenant,
 * the previous run, tenant, rows, size.
 */
const RUN_STARTS = `WITH RECURSIVE
  starts (seq, run, n) AS (
    SELECT * FROM (SELECT seq, run, 1 FROM events WHERE tenant = ? AND run IS NOT NULL AND run > ? ORDER BY run, revision LIMIT 1)
    UNION ALL
    SELECT e.seq, e.run, s.n + 1 FROM starts s JOIN events e ON e.seq = (
      SELECT seq FROM events WHERE tenant = ? AND run IS NOT NULL AND run > s.run ORDER BY run, revision LIMIT 1
    ) WHERE s.n < ?
  )
  SELECT e.run, e.time, e.leaf < ? AS isPresent`
const IS_OPEN = `NOT EXISTS (SELECT 1 FROM events o WHERE o.tenant = e.tenant AND o.run = e.run AND o.leaf < ? AND o.type IN ('${RUN_ENDS.join("', '")}'))`

interface StartRow extends RunStart {
  readonly isPresent: number
  readonly isOpen: number
}

export function runStarts(
  db: Database,
  { tenant, size }: AuditView,
  { after, runs, openOnly }: { readonly after: string; readonly runs: number; readonly openOnly: boolean },
): RunStarts {
  const found = db
    .prepare<unknown[], StartRow>(
      `${RUN_STARTS}, ${openOnly ? IS_OPEN : '1'} AS isOpen FROM starts JOIN events e ON e.seq = starts.seq ORDER BY starts.n`,
    )
    .all(tenant, after, tenant, runs, size, ...(openOnly ? [size] : []))
  const starts = found.filter(({ isPresent, isOpen }) => isPresent === 1 && isOpen === 1)
  const last = found.at(-1)
  return {
    starts: starts.map(({ run, time }) => ({ run, time })),
    ...(last !== undefined && found.length === runs && { next: last.run }),
  }
}

function endOf(text: string): { readonly leaf: number; readonly type: string } {
  return { leaf: Number(text.slice(0, LEAF_CHARS)), type: text.slice(LEAF_CHARS + 1) }
}

/** Revisions without a row, below the last revision of the run. */
export function missingRevisions(
  db: Database,
  { tenant, size }: AuditView,
  {
    run,
    from,
    rows,
    limit,
  }: { readonly run: string; readonly from: number; readonly rows: number; readonly limit: number },
): MissingWindow {
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

export type WindowPage = KeyPage & { readonly window: LeafWindow }

/** Restricts a statement to one window of the log. */
export const WITHIN = 'AND e.leaf > ? AND e.leaf <= ?'

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
