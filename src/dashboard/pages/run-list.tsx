/** @module The runs of the tenant, newest first, with filters; those that refused a handoff are one click away. */
import { READ_OWN_RUNS } from '../../access/access.ts'
import { seeOther } from '../answer.tsx'
import { count, money, plural } from '../format.ts'
import { pageRoute, type View } from '../page.ts'
import { Chips } from '../parts/chips.tsx'
import { Actor, Badge, Data, Time } from '../parts/data.tsx'
import { LiveStatus } from '../parts/live-status.tsx'
import { PeriodChips } from '../parts/period-fields.tsx'
import { StatusBadge } from '../parts/status-badge.tsx'
import { LIVE, RUNS, refusalsPath, runPath, withQuery } from '../paths.ts'
import { type Row, rowOf } from '../run-row.ts'
import { livePlace } from './live.ts'
import { FilterForm } from './run-filter-form.tsx'
import { filterOf, queryOf, RunQuery } from './run-filters.ts'

const PAGE_ROWS = 50

export const runListPage = pageRoute({
  path: '/runs',
  access: READ_OWN_RUNS,
  query: RunQuery,
  handle: async (view) => {
    const { c, caller, deps, query } = view
    if (caller.run !== undefined) return seeOther(c, runPath(caller.run))
    const place = await livePlace(deps.ledger, caller)
    const { items } = await deps.ledger.listRuns(caller, filterOf(query, { limit: PAGE_ROWS + 1, nowMs: deps.now() }))
    const rows = items.slice(0, PAGE_ROWS).map(rowOf)
    return {
      title: 'Runs',
      nav: 'runs',
      scripts: ['live.js', 'zones.js'],
      body: <RunList view={view} rows={rows} more={items.length > PAGE_ROWS} place={place} />,
    }
  },
})

interface ListProps {
  readonly view: View<RunQuery>
  readonly rows: readonly Row[]
  readonly more: boolean
  readonly place: string | undefined
}

function RunList({ view: { query }, rows, more, place }: ListProps) {
  const last = rows.at(-1)
  const next = more && last !== undefined ? `${last.startedAt}~${last.runId}` : undefined
  return (
    <>
      <div class="page-head">
        <h1>Runs</h1>
        <QuickFilters query={query} />
      </div>
      <PeriodChips path={RUNS} query={queryOf(query)} />
      <FilterForm query={query} rows={rows} />
      <section aria-label="Runs" id="live" data-live={withQuery(LIVE, { after: place })}>
        {rows.length === 0 ? <NoRuns query={query} /> : <RunTable rows={rows} />}
      </section>
      <LiveStatus />
      <nav class="pager" aria-label="Pages">
        {query.after !== undefined && <a href={withQuery(RUNS, queryOf(query))}>Newest</a>}
        {next !== undefined && (
          <a href={withQuery(RUNS, { ...queryOf(query), after: next })} rel="next">
            Older runs
          </a>
        )}
      </nav>
    </>
  )
}

const ROLLBACKS = [
  ['Compensation failed', 'COMPENSATION_FAILED'],
  ['Compensation in doubt', 'IN_DOUBT'],
] as const

/** The questions that are asked most, as one click. */
function QuickFilters({ query }: { readonly query: RunQuery }) {
  const filters = [
    { label: 'All', given: {}, on: Object.values(queryOf(query)).every((value) => value === undefined) },
    { label: 'Refused a handoff', given: { refused: 'true' }, on: query.refused !== undefined },
    { label: 'Open', given: { status: 'open' }, on: query.status === 'open' },
    { label: 'Waiting', given: { waiting: 'true' }, on: query.waiting !== undefined },
    { label: 'Failed', given: { status: 'failed' }, on: query.status === 'failed' },
    { label: 'Rolled back', given: { status: 'compensated' }, on: query.status === 'compensated' },
    ...ROLLBACKS.map(([label, compensation]) => {
      return { label, given: { compensation }, on: query.compensation === compensation }
    }),
    { label: 'In doubt', given: { inDoubt: 'true' }, on: query.inDoubt !== undefined },
    { label: 'Overdue', given: { overdue: 'true' }, on: query.overdue !== undefined },
  ]
  const chips = filters.map(({ label, given, on }) => ({ label, href: withQuery(RUNS, given), current: on }))
  return <Chips label="Common filters" chips={chips} />
}

function NoRuns({ query }: { readonly query: RunQuery }) {
  const filtered = Object.values(query).some((value) => value !== undefined)
  return (
    <div class="empty">
      <p class="empty-title">{filtered ? 'No run fits these filters' : 'No runs yet'}</p>
      {filtered ? (
        <p>
          <a href={RUNS}>Show all runs</a>
        </p>
      ) : (
        <p>
          Start one with <code>POST /v1/runs</code>, or import transcripts with{' '}
          <code>countersign import FILE --format openai</code>.
        </p>
      )}
    </div>
  )
}

function RunTable({ rows }: { readonly rows: readonly Row[] }) {
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
            <RunRow row={row} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function RunRow({ row }: { readonly row: Row }) {
  const { runId, name, rejections, step, calls, tokens, cost, currency, actor, principal, startedAt, updatedAt } = row
  return (
    <tr id={`run-${runId}`}>
      <th scope="row">
        <a class="row-link" href={runPath(runId)}>
          <Data text={runId} />
        </a>
        {name !== runId && (
          <span class="muted sub">
            <Data text={name} />
          </span>
        )}
      </th>
      <td data-label="Status">
        <StatusBadge {...row} />
        {row.waiting > 0 && <span class="muted sub">waits for {plural(row.waiting, 'thing')}</span>}
      </td>
      <td data-label="Refused">
        {rejections > 0 && (
          <a href={refusalsPath(runId)}>
            <Badge kind="refused" text={plural(rejections, 'handoff')} />
            <span class="visually-hidden"> refused: see the newest</span>
          </a>
        )}
      </td>
      <td class="number" data-label="Steps">
        {count(step)}
      </td>
      <td class="number" data-label="Calls">
        {count(calls)}
      </td>
      <td class="number" data-label="Tokens">
        {tokens === 0 ? <span class="muted">0</span> : count(tokens)}
      </td>
      <td class="number" data-label="Cost">
        {cost === undefined || cost === '0' ? <span class="muted">0</span> : money(cost, currency)}
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
