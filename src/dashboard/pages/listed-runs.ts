/** @module The rows of a page of runs, current or at an earlier size of the log. */

import { Refused, type View } from '../page.ts'
import { RUNS, withQuery } from '../paths.ts'
import { type Row, rowOf } from '../run-row.ts'
import { asOfIn } from './audit-filters.ts'
import { auditOf } from './audit-query.ts'
import { filterOf, queryOf, type RunQuery } from './run-filters.ts'

const PAGE_ROWS = 50

export interface ListedRuns {
  readonly rows: readonly Row[]
  /** Address of the next page. */
  readonly next?: string
  /** Size of the log at the shown moment; absent for the present. */
  readonly asOf?: number
}

export function listedRuns(view: View<RunQuery>): Promise<ListedRuns> {
  const asOf = asOfIn(view.query.asOf)
  return asOf === undefined ? present(view) : past(view, asOf)
}

async function present({ caller, deps, query }: View<RunQuery>): Promise<ListedRuns> {
  const page = { limit: PAGE_ROWS + 1, nowMs: deps.now() }
  const { items } = await deps.ledger.listRuns(caller, filterOf(query, page))
  const rows = items.slice(0, PAGE_ROWS).map(rowOf)
  const last = items.length > PAGE_ROWS ? rows.at(-1) : undefined
  if (last === undefined) return { rows }
  return { rows, next: withQuery(RUNS, { ...queryOf(query), after: `${last.startedAt}~${last.runId}` }) }
}

async function past(view: View<RunQuery>, asOf: number): Promise<ListedRuns> {
  const { caller, deps, query } = view
  const [leaf, eventId] = query.place?.split('~') ?? []
  const { after: _, limit, ...filter } = filterOf(query, { limit: PAGE_ROWS, nowMs: deps.now() })
  const place = leaf === undefined ? {} : { after: Number(leaf), eventId }
  const found = await auditOf(view).runs(caller, filter, { treeSize: asOf, limit, ...place })
  if (!found.ok) throw new Refused({ code: found.code, detail: found.detail })
  const rows = found.items.map(rowOf)
  if (found.next === undefined) return { rows, asOf }
  const next = `${found.next}~${found.asOf.eventId}`
  return { rows, asOf, next: withQuery(RUNS, { ...queryOf(query), place: next }) }
}
