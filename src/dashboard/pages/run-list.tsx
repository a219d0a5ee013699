/** @module The runs of the tenant, newest first, with filters, including one for runs that refused a handoff. */
import { ROLLBACK_VERDICTS, RUN_STATUSES } from '../../../schemas/run-status.ts'
import { READ_OWN_RUNS } from '../../access/access.ts'
import type { IntegrityState } from '../../ledger/integrity/integrity.ts'
import { seeOther } from '../answer.tsx'
import { count, money, plural } from '../format.ts'
import { pageRoute, Refused, type View } from '../page.ts'
import { CaptureBadge, CaptureLegend } from '../parts/capture.tsx'
import { Chips } from '../parts/chips.tsx'
import { Actor, Badge, Data, Time } from '../parts/data.tsx'
import { LiveStatus } from '../parts/live-status.tsx'
import { NoRunsYet } from '../parts/no-runs-yet.tsx'
import { isLate, NotTaken } from '../parts/not-taken.tsx'
import { PeriodChips, PeriodFields } from '../parts/period-fields.tsx'
import { StatusBadge } from '../parts/status-badge.tsx'
import { TextField } from '../parts/text-field.tsx'
import { LIVE, RUNS, refusalsPath, runPath, withQuery } from '../paths.ts'
import { type Row, rowOf } from '../run-row.ts'
import { VERDICT_MARKS } from '../verdict-marks.ts'
import { visibleText } from '../visible.ts'
import { asOfIn } from './audit-filters.ts'
import { auditOf } from './audit-query.ts'
import { livePlace } from './live.ts'
import { filterOf, queryOf, RunQuery } from './run-filters.ts'

export const runListPage = pageRoute({
  path: '/runs',
  access: READ_OWN_RUNS,
  query: RunQuery,
  handle: async (view) => {
    const { c, caller, deps, query } = view
    if (caller.run !== undefined) return seeOther(c, runPath(caller.run))
    const place = await livePlace(deps.ledger, caller)
    const runs = await listedRuns(view)
    const lost = lostRuns(deps.ledger.integrity.state(caller))
    return {
      title: 'Runs',
      nav: 'runs',
      // A view of the past does not change.
      scripts: runs.asOf === undefined ? ['live.js', 'zones.js'] : ['zones.js'],
      body: <RunList query={query} runs={runs} place={place} lost={lost} />,
    }
  },
})

interface ListProps {
  readonly query: RunQuery
  readonly runs: ListedRuns
  readonly place: string | undefined
  readonly lost: ReadonlySet<string>
}

/** Runs of which every known loss is acknowledged. */
function lostRuns({ faults, acknowledged }: IntegrityState): ReadonlySet<string> {
  const open = new Set(faults.filter((fault) => fault.acknowledged !== true).map(({ run }) => run))
  return new Set(acknowledged.flatMap(({ run }) => (run === undefined || open.has(run) ? [] : run)))
}

function RunList({ query, runs: { rows, next, asOf, nowMs }, place, lost }: ListProps) {
  const isLast = next === undefined
  return (
    <>
      <div class="page-head">
        <h1>Runs</h1>
        <QuickFilters query={query} />
      </div>
      <PeriodChips path={RUNS} query={queryOf(query)} />
      <FilterForm query={query} rows={rows} />
      {asOf === undefined ? (
        <section aria-label="Runs" id="live" data-live={withQuery(LIVE, { after: place })}>
          {rows.length === 0 ? (
            <NoRuns query={query} isLast={isLast} />
          ) : (
            <RunTable rows={rows} lost={lost} nowMs={nowMs} />
          )}
        </section>
      ) : (
        <section aria-label="Runs">
          <AsItWas query={query} asOf={asOf} />
          {rows.length === 0 ? (
            <NoRuns query={query} isLast={isLast} />
          ) : (
            <RunTable rows={rows} lost={lost} asOf={String(asOf)} />
          )}
        </section>
      )}
      {asOf === undefined && <LiveStatus />}
      <nav class="pager" aria-label="Pages">
        {(query.after ?? query.place) !== undefined && <a href={withQuery(RUNS, queryOf(query))}>Newest</a>}
        {next !== undefined && (
          <a href={next} rel="next">
            Older runs
          </a>
        )}
      </nav>
    </>
  )
}

function AsItWas({ query, asOf }: { readonly query: RunQuery; readonly asOf: number }) {
  return (
    <aside class="notice as-it-was" id="as-it-was" aria-label="A moment of the past">
      <p>
        <strong>This is the past.</strong> As it was when the log had {plural(asOf, 'event')}: runs that began later are
        not listed, each row shows the status of its run then, and a run opens as it was then.
      </p>
      <nav class="pager" aria-label="Moments">
        <a class="strong" href={withQuery(RUNS, { ...queryOf(query), asOf: undefined })}>
          Runs of now
        </a>
      </nav>
    </aside>
  )
}

const ROLLBACKS = [
  ['Compensation failed', 'COMPENSATION_FAILED'],
  ['Compensation in doubt', 'IN_DOUBT'],
] as const

/** The most common filters, one click each. */
function QuickFilters({ query }: { readonly query: RunQuery }) {
  const filters = [
    { label: 'All', params: {}, on: !isFiltered(query) },
    { label: 'Refused a handoff', params: { refused: 'true' }, on: query.refused !== undefined },
    { label: 'Open', params: { status: 'open' }, on: query.status === 'open' },
    { label: 'Waiting', params: { waiting: 'true' }, on: query.waiting !== undefined },
    { label: 'Failed', params: { status: 'failed' }, on: query.status === 'failed' },
    { label: 'Rolled back', params: { status: 'compensated' }, on: query.status === 'compensated' },
    ...ROLLBACKS.map(([label, compensation]) => {
      return { label, params: { compensation }, on: query.compensation === compensation }
    }),
    { label: 'In doubt', params: { inDoubt: 'true' }, on: query.inDoubt !== undefined },
    { label: 'Stuck', params: { stuck: 'true' }, on: query.stuck !== undefined },
    { label: 'Overdue', params: { overdue: 'true' }, on: query.overdue !== undefined },
  ]
  const { asOf } = query
  const chips = filters.map(({ label, params, on }) => ({
    label,
    href: withQuery(RUNS, { ...params, asOf }),
    current: on,
  }))
  return <Chips label="Common filters" chips={chips} />
}

const isFiltered = ({ asOf: _, zone: __, ...query }: RunQuery): boolean =>
  Object.values(queryOf(query)).some((value) => value !== undefined)

function NoRuns({ query, isLast }: { readonly query: RunQuery; readonly isLast: boolean }) {
  const filtered = Object.values(query).some((value) => value !== undefined)
  // For the past, a page examines a fixed number of runs, whether they match or not.
  if (!isLast) {
    return (
      <div class="empty">
        <p class="empty-title">None of the runs that this page looked at fits: go on to older runs</p>
      </div>
    )
  }
  if (!filtered) return <NoRunsYet />
  return (
    <div class="empty">
      <p class="empty-title">No run fits these filters</p>
      <p>
        <a href={RUNS}>Show all runs</a>
      </p>
    </div>
  )
}

interface TableProps {
  readonly rows: readonly Row[]
  readonly lost: ReadonlySet<string>
  readonly asOf?: string
  /** Absent for the past, for which it is not known when a run is taken. */
  readonly nowMs?: number | undefined
}

function RunTable({ rows, lost, asOf, nowMs }: TableProps) {
  return (
    <div class="table-scroll">
      <table class="runs listed">
        <thead>
          <tr>
            <th scope="col">Run</th>
            <th scope="col">Status</th>
            <th scope="col">Refused</th>
            <th scope="col" class="number">
              Steps
            </th>
            <th scope="col" class="number">
              Calls
            </th>
            <th scope="col" class="number">
              Tokens
            </th>
            <th scope="col" class="number">
              Cost
            </th>
            <th scope="col">Started by</th>
            <th scope="col">Started</th>
            <th scope="col">Last event</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <RunRow
              row={row}
              asOf={asOf}
              isLost={lost.has(row.runId)}
              isLate={nowMs !== undefined && isLate(row, nowMs)}
            />
          ))}
        </tbody>
      </table>
      <CaptureLegend runs={rows} />
    </div>
  )
}

interface RowProps {
  readonly row: Row
  readonly asOf: string | undefined
  readonly isLost: boolean
  /** The run is due, and no worker has taken it. */
  readonly isLate: boolean
}

function RunRow({ row, asOf, isLost, isLate }: RowProps) {
  const { runId, name, rejections, step, calls, tokens, cost, currency, actor, principal, startedAt, updatedAt } = row
  return (
    <tr id={`run-${runId}`}>
      <th scope="row">
        <a class="row-link" href={runPath({ runId, asOf })}>
          <Data text={runId} />
        </a>
        {name !== runId && (
          <span class="muted sub">
            <Data text={name} />
          </span>
        )}
      </th>
      <td data-label="Status">
        <StatusBadge {...row} lost={isLost} />
        <CaptureBadge run={row} />
        {row.stuck !== undefined && <StuckSince stuck={row.stuck} />}
        {isLate && (
          <span class="muted sub">
            <NotTaken dueAt={row.dueAt} version={row.version} />
          </span>
        )}
        {row.waiting > 0 && <span class="muted sub">{plural(row.waiting, 'open wait')}</span>}
      </td>
      <td data-label="Refused">
        {row.notCounted && <NotCounted />}
        {rejections > 0 && (
          <a href={refusalsPath({ runId, asOf })}>
            <Badge kind="refused" text={plural(rejections, 'handoff')} />
            <span class="visually-hidden"> refused: see the newest</span>
          </a>
        )}
      </td>
      <td class="number" data-label="Steps">
        {row.notCounted ? <NotCounted /> : count(step)}
      </td>
      <td class="number" data-label="Calls">
        {row.notCounted ? <NotCounted /> : count(calls)}
      </td>
      <td class="number" data-label="Tokens">
        {row.notCounted ? <NotCounted /> : <Amount text={count(tokens)} none={tokens === 0} />}
      </td>
      <td class="number" data-label="Cost">
        {row.notCounted ? <NotCounted /> : <Cost cost={cost} currency={currency} />}
      </td>
      <td data-label="Started by">
        <Actor actor={actor} {...(principal !== undefined && { principal })} />
      </td>
      <td data-label="Started">
        <Time time={startedAt} />
      </td>
      <td data-label="Last event">
        <Time time={updatedAt} />
      </td>
    </tr>
  )
}

const StuckSince = ({ stuck: { code, since } }: { readonly stuck: NonNullable<Row['stuck']> }) => (
  <span class="muted sub">
    <Data text={code} /> since <Time time={since} />
  </span>
)

const Amount = ({ text, none }: { readonly text: string; readonly none: boolean }) => (
  <span {...(none && { class: 'muted' })}>{text}</span>
)

const Cost = ({ cost, currency }: Pick<Row, 'cost' | 'currency'>) =>
  cost === undefined || cost === '0' ? <Amount text="0" none /> : <Amount text={money(cost, currency)} none={false} />

/** For a long run at an earlier moment: no number is better than the present one. */
function NotCounted() {
  return (
    <span class="muted" title="This run had too many events by then to be counted for a list; its page has them">
      —<span class="visually-hidden"> not counted for a list</span>
    </span>
  )
}

/** The form of the run list's filters: a plain GET, so that a filtered list has an address. */
function FilterForm({ query, rows }: { readonly query: RunQuery; readonly rows: readonly Row[] }) {
  return (
    <form method="get" action={RUNS} autocomplete="off" class="filters" aria-label="Filter runs">
      <div>
        <label for="f-status">Status</label>
        <select id="f-status" name="status">
          <option value="">Any</option>
          {RUN_STATUSES.map((status) => (
            <option value={status} selected={query.status === status}>
              {status}
            </option>
          ))}
        </select>
      </div>
      <div>
        <label for="f-compensation">Rollback ended</label>
        <select id="f-compensation" name="compensation">
          <option value="">Any</option>
          {ROLLBACK_VERDICTS.map((verdict) => (
            <option value={verdict} selected={query.compensation === verdict}>
              {VERDICT_MARKS[verdict].text}
            </option>
          ))}
        </select>
      </div>
      <TextField name="contains" label="Run, name, tag, agent or person" value={query.contains} list="known" />
      <TextField name="agent" label="Agent" value={query.agent} list="agents" />
      <TextField name="tag" label="Tag" value={query.tag} list="tags" />
      {query.name !== undefined && <TextField name="name" label="Exact name" value={query.name} />}
      <PeriodFields since={query.since} until={query.until} zone={query.zone} sinceLabel="Started since" />
      <TextField name="asOf" label="As of so many events" value={query.asOf} />
      <Suggestions rows={rows} />
      <div class="check">
        <input id="f-refused" type="checkbox" name="refused" value="true" checked={query.refused !== undefined} />
        <label for="f-refused">Refused a handoff</label>
      </div>
      <div class="check">
        <input id="f-in-doubt" type="checkbox" name="inDoubt" value="true" checked={query.inDoubt !== undefined} />
        <label for="f-in-doubt">Call in doubt</label>
      </div>
      <div class="check">
        <input id="f-overdue" type="checkbox" name="overdue" value="true" checked={query.overdue !== undefined} />
        <label for="f-overdue">Lease overdue</label>
      </div>
      <div class="check">
        <input id="f-waiting" type="checkbox" name="waiting" value="true" checked={query.waiting !== undefined} />
        <label for="f-waiting">Waits</label>
      </div>
      <div class="check">
        <input id="f-stuck" type="checkbox" name="stuck" value="true" checked={query.stuck !== undefined} />
        <label for="f-stuck">Stuck</label>
      </div>
      <button type="submit" class="button">
        Filter
      </button>
    </form>
  )
}

const SUGGESTIONS_MAX = 60

/** Suggestions from the rows of this page. */
function Suggestions({ rows }: { readonly rows: readonly Row[] }) {
  const people = rows.flatMap(({ actor, principal }) => [actor, ...(principal === undefined ? [] : [principal])])
  const lists = {
    known: [...rows.map(({ name }) => name), ...people, ...rows.map(({ runId }) => runId)],
    agents: rows.flatMap(({ agents }) => agents),
    tags: rows.flatMap(({ tags }) => tags),
  }
  return (
    <>
      {Object.entries(lists).map(([id, values]) => (
        <datalist id={id}>
          {[...new Set(values)].slice(0, SUGGESTIONS_MAX).map((value) => (
            <option value={visibleText(value)} />
          ))}
        </datalist>
      ))}
    </>
  )
}

// The rows of a page of runs, current or at an earlier size of the log.

const PAGE_ROWS = 50

interface ListedRuns {
  readonly rows: readonly Row[]
  /** The present. */
  readonly nowMs?: number
  /** Address of the next page. */
  readonly next?: string
  /** Size of the log at the shown moment; absent for the present. */
  readonly asOf?: number
}

function listedRuns(view: View<RunQuery>): Promise<ListedRuns> {
  const asOf = asOfIn(view.query.asOf)
  return asOf === undefined ? present(view) : past(view, asOf)
}

async function present({ caller, deps, query }: View<RunQuery>): Promise<ListedRuns> {
  const nowMs = deps.now()
  const { items } = await deps.ledger.listRuns(caller, filterOf(query, { limit: PAGE_ROWS + 1, nowMs }))
  const rows = items.slice(0, PAGE_ROWS).map(rowOf)
  const last = items.length > PAGE_ROWS ? rows.at(-1) : undefined
  if (last === undefined) return { rows, nowMs }
  return { rows, nowMs, next: withQuery(RUNS, { ...queryOf(query), after: `${last.startedAt}~${last.runId}` }) }
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
