/**
 * @module The run list as of a size of the log. The list itself holds only the present state: the audit index lists the runs that had begun, newest
 * start first, and a run that continued since is folded again from its events up to that point. A page looks at a bounded number of runs and folds a
 * bounded number of events. When either bound is reached, the page ends early with the cursor of the next one.
 */
import type { RunRowState } from '../../../projections/run-row.ts'
import type { AuditRow } from '../../../schemas/audit-fields.ts'
import { declarationOf, typesThat } from '../../../schemas/events.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { runStream } from '../../../schemas/names.ts'
import { ofWholeTenant } from '../../access/check-access.ts'
import type { Pace } from '../../resources/work-queue.ts'
import type { AuditIndex, AuditView } from '../../store/audit-index.ts'
import { readWhole } from '../../store/derived-file.ts'
import type { EventStore } from '../../store/event-store.ts'
import { pacedPages } from '../../store/paced-pages.ts'
import { onceTrueFits, type RowFilter, rowFits } from '../../store/run-fits.ts'
import type { RunRow } from '../../store/view-store.ts'
import { type RowSeal, type RunList, shownRow } from '../read/run-list.ts'
import { foldFitting, leaseOverBefore, rowOf } from '../read/run-row-fold.ts'
import type { AuditReads, RunsAsOf, RunsAsOfRequest, RunsFilter } from './audit-reads.ts'
import { beyondLog, otherLog, wholeTenantOnly } from './question-fault.ts'
import { asOfPin, type ReachDeps, reachSize } from './reach-size.ts'
import { windowedRows } from './windowed-rows.ts'

/** Maximum number of runs that one page looks at, whether they match or not: some tenths of a second of work. */
const LOOKED_MAX = 2_000
/** Maximum number of events that one page folds. A run with more events is listed without the values that only a fold provides. */
const FOLDED_MAX = 10_000
const BATCH_RUNS = 100

const RUN_ENDS = typesThat(({ changes }) => changes.run !== undefined && changes.run !== 'open')

export interface RunsAsOfDeps extends ReachDeps {
  readonly index: Pick<AuditIndex, 'rows' | 'row' | 'pin' | 'size' | 'onRenewed'>
  readonly store: Pick<EventStore, 'readStream'>
  readonly list: Pick<RunList, 'catchUp' | 'row' | 'sealsOf'>
  /** Default: `LOOKED_MAX` and `FOLDED_MAX`. */
  readonly lookedMax?: number | undefined
  readonly foldedMax?: number | undefined
}

interface RunsPage extends Pick<RunsAsOfRequest, 'after' | 'limit'> {
  readonly pace: Pace | undefined
}

/** A run as of that point, or its known part without a fold. */
type Row = RunRow & { readonly notCounted?: true }

export function runsAsOf(deps: RunsAsOfDeps): AuditReads['runs'] {
  return async (caller, filter, { treeSize, eventId, ...page }) => {
    if (ofWholeTenant(caller) !== undefined) return wholeTenantOnly(caller)
    const { tenant, pace } = caller
    return readWhole(deps.index, async () => {
      await reachSize(deps, tenant, treeSize)
      const pin = deps.index.pin(tenant, treeSize)
      if (pin === undefined) return beyondLog(deps.index.size(tenant))
      if (eventId !== undefined && eventId !== pin.eventId) return otherLog
      const found = await listed(deps, { tenant, size: treeSize }, filter, { ...page, pace })
      return { ok: true, ...found, asOf: asOfPin(pin) }
    })
  }
}

async function listed(
  deps: RunsAsOfDeps,
  view: AuditView,
  { overdue, ...filter }: RunsFilter,
  { after, limit, pace }: RunsPage,
): Promise<Omit<RunsAsOf, 'ok' | 'asOf'>> {
  await deps.list.catchUp()
  const leaseOverAt = leaseOverBefore(Date.parse(deps.index.row(view.tenant, view.size - 1)?.time ?? '') || 0)
  const rowFilter: RowFilter = { ...filter, ...(overdue === true && { leaseOverAt }) }
  const sealOf = deps.list.sealsOf(view.tenant)
  const past = new Past(deps, view, { filter: rowFilter, pace })
  const items: JsonObject[] = []
  let looked = 0
  let place = after
  for (;;) {
    const starts = await past.starts(place)
    for (const start of starts) {
      const turn = pace?.turn()
      if (turn !== undefined) await turn
      const isFull = items.length >= limit || looked >= (deps.lookedMax ?? LOOKED_MAX)
      const row = isFull ? 'later' : await past.row(start)
      if (row === 'later') return { items, ...(place !== undefined && { next: place }) }
      if (row !== undefined) items.push(shown(row, leaseOverAt, sealOf(row.runId)))
      place = start.leaf
      looked += 1
    }
    if (starts.length < BATCH_RUNS) return { items }
  }
}

function shown(row: Row, leaseOverAt: string, seal: RowSeal): JsonObject {
  if (row.notCounted === undefined) return shownRow(row, leaseOverAt, seal)
  const { runId, name, status, tags, actor, principal, startedAt, updatedAt, revision } = row
  const person = principal === undefined ? {} : { principal }
  const known = { runId, name, status, tags, actor, ...person, startedAt, updatedAt, revision }
  return { ...known, notCounted: true, ...seal }
}

interface Sought {
  readonly filter: RowFilter
  readonly pace: Pace | undefined
}

/** The runs of a view, and the fold budget that is left for one page. */
class Past {
  readonly #deps: RunsAsOfDeps
  readonly #view: AuditView
  readonly #sought: Sought
  readonly #foldedMax: number
  #folded = 0

  constructor(deps: RunsAsOfDeps, view: AuditView, sought: Sought) {
    this.#deps = deps
    this.#view = view
    this.#sought = sought
    this.#foldedMax = deps.foldedMax ?? FOLDED_MAX
  }

  /** Starts of runs before a leaf, newest first. */
  starts(after: number | undefined): Promise<readonly AuditRow[]> {
    const { since, until } = this.#sought.filter
    const period = { ...(since !== undefined && { since }), ...(until !== undefined && { until }) }
    return this.#newest({ types: ['RunStarted'], ...period }, { after, limit: BATCH_RUNS })
  }

  #newest(
    filter: Parameters<AuditIndex['rows']>[1],
    page: { readonly after?: number | undefined; readonly limit: number },
  ): Promise<readonly AuditRow[]> {
    const rowsOf = (part: Parameters<AuditIndex['rows']>[2]) => this.#deps.index.rows(this.#view, filter, part)
    const { size } = this.#view
    return windowedRows(
      rowsOf,
      { after: page.after, limit: page.limit, newestFirst: true },
      { size, pace: this.#sought.pace },
    )
  }

  /** Undefined if the run does not match, or if the row does not start a run; `later` if this page has reached its fold limit. */
  async row({ run, stream, revision }: AuditRow): Promise<Row | 'later' | undefined> {
    const { tenant } = this.#view
    if (run === undefined || stream !== runStream(tenant, run) || revision !== 0) return undefined
    const { filter } = this.#sought
    const present = this.#deps.list.row(tenant, run)
    if (present !== undefined && !onceTrueFits(present, filter)) return undefined
    const [last] = this.#deps.index.rows(this.#view, { run }, { after: undefined, limit: 1, newestFirst: true })
    if (last === undefined) return undefined
    const isAsItWas = present?.revision === last.revision
    if (!isAsItWas && last.revision >= this.#foldedMax) return this.#unfolded(run, last)
    const row = isAsItWas ? present : await this.#fold(run, last.revision)
    if (row === 'later' || row === undefined) return row
    return rowFits(row, filter) ? row : undefined
  }

  async #fold(run: string, to: number): Promise<RunRow | 'later' | undefined> {
    if (this.#folded + to >= this.#foldedMax) return 'later'
    this.#folded += to + 1
    let state: RunRowState | undefined
    const { tenant } = this.#view
    for await (const page of pacedPages(
      this.#deps.store.readStream(runStream(tenant, run), { to }),
      this.#sought.pace,
    )) {
      for (const record of page) state = foldFitting(state, record)
    }
    return state === undefined ? undefined : rowOf(tenant, run, state)
  }

  /**
   * A row from the start of the run and the end event in the index. Whether the other conditions of the filter were met is not known, so the run is
   * not left out.
   */
  async #unfolded(run: string, { revision, time }: AuditRow): Promise<Row | 'later' | undefined> {
    const first = await this.#fold(run, 0)
    if (first === 'later' || first === undefined) return first
    const [end] = await this.#newest({ run, types: [...RUN_ENDS] }, { limit: 1 })
    const status = (end && declarationOf(end.type)?.changes.run) ?? 'open'
    const { status: requested, name, tag, since, until } = this.#sought.filter
    const fixed = Object.fromEntries(
      Object.entries({ name, tag, since, until }).filter(([, value]) => value !== undefined),
    )
    const fits = onceTrueFits(first, fixed) && (requested === undefined || requested === status)
    return fits ? { ...first, status, revision, updatedAt: time, notCounted: true } : undefined
  }
}
