/** @module What was spent, summed from the events: by agent, by model, by day and by run. */
import { z } from 'zod'
import type { JsonObject } from '../../../schemas/json.ts'
import { toNano } from '../../../schemas/money.ts'
import { READ_TENANT_RECORDED_BEHIND } from '../../access/access.ts'
import type { AuditPage } from '../../ledger/audit/audit-reads.ts'
import { count, money, plural } from '../format.ts'
import { pageRoute } from '../page.ts'
import { Data } from '../parts/data.tsx'
import { PeriodChips, PeriodFields } from '../parts/period-fields.tsx'
import { auditPath, runPath, SPEND, withQuery } from '../paths.ts'
import { askAudit, numberIn, textIn } from './audit-ask.ts'
import { asOfIn } from './audit-filters.ts'
import { periodOf, When, Zone } from './run-filters.ts'

/** Groups of a chart; the table behind it has them all. */
const GROUPS = 20
const DAYS = 60
const CHARTS = [
  ['agent', 'By agent'],
  ['model', 'By model'],
  ['run', 'By run'],
] as const

const SpendQuery = z.object({
  since: When.optional(),
  until: When.optional(),
  zone: Zone.optional(),
  asOf: z.string().max(15).optional(),
})
type SpendQuery = z.output<typeof SpendQuery>

export const spendPage = pageRoute({
  path: '/spend',
  access: READ_TENANT_RECORDED_BEHIND,
  query: SpendQuery,
  handle: async (view) => {
    const filter = periodOf(view.query, view.deps.now())
    const asOf = asOfIn(view.query.asOf)
    const pinned = asOf === undefined ? {} : { treeSize: asOf }
    const ask = (by: string, limit: number) => askAudit(view, { name: 'spend', filter, by }, { ...pinned, limit })
    const [total, days, ...charts] = await Promise.all([
      ask('tenant', GROUPS),
      ask('day', DAYS),
      ...CHARTS.map(([by]) => ask(by, GROUPS)),
    ])
    const body = <SpendBody query={view.query} total={total} days={days} charts={charts} />
    return { title: 'Spend', nav: 'spend', scripts: ['zones.js'], body }
  },
})

interface BodyProps {
  readonly query: SpendQuery
  readonly total: AuditPage
  readonly days: AuditPage
  readonly charts: readonly AuditPage[]
}

function SpendBody({ query, total, days, charts }: BodyProps) {
  return (
    <>
      <div class="page-head">
        <div>
          <h1>Spend</h1>
          <p class="muted">Summed from the recorded usage, as of {plural(total.asOf.treeSize, 'event')} of the log.</p>
        </div>
      </div>
      <PeriodChips path={SPEND} query={query} />
      <form method="get" class="filters" aria-label="Period">
        <PeriodFields since={query.since} until={query.until} zone={query.zone} />
        <div>
          <label for="f-asOf">As of so many events</label>
          <input id="f-asOf" type="text" name="asOf" value={query.asOf ?? ''} maxlength={15} autocomplete="off" />
        </div>
        <button type="submit" class="button">
          Show
        </button>
      </form>
      {total.items.length === 0 ? (
        <div class="empty">
          <p class="empty-title">
            Nothing was spent{query.since === undefined && query.until === undefined ? ' yet' : ' in this period'}
          </p>
          <p>Settle a call or a reservation with its usage, or post it to /v1/runs/&#123;run&#125;/usage.</p>
        </div>
      ) : (
        <>
          <Totals page={total} />
          <Chart title="By day" by="day" page={days} query={query} />
          <div class="columns columns-even">
            {charts.slice(0, 2).map((page, index) => (
              <Chart title={CHARTS[index]?.[1] ?? ''} by={CHARTS[index]?.[0] ?? ''} page={page} query={query} />
            ))}
          </div>
          {charts.slice(2).map((page) => (
            <Chart title="By run" by="run" page={page} query={query} />
          ))}
        </>
      )}
    </>
  )
}

function Totals({ page }: { readonly page: AuditPage }) {
  return (
    <dl class="facts">
      {page.items.map((item) => (
        <div>
          <dt>{textIn(item, 'currency') ?? 'Without a currency'}</dt>
          <dd>
            {money(textIn(item, 'cost') ?? '0', textIn(item, 'currency'))}{' '}
            <span class="muted">{plural(numberIn(item, 'tokens') ?? 0, 'token')}</span>
          </dd>
        </div>
      ))}
    </dl>
  )
}

interface ChartProps {
  readonly title: string
  readonly by: string
  readonly page: AuditPage
  readonly query: SpendQuery
}

/** A bar a row: a table first, so that nothing is shown by length alone. */
function Chart({ title, by, page, query }: ChartProps) {
  const shares = sharesOf(page.items)
  const rows = page.items.map((item, index) => ({ item, share: shares[index] ?? 0 }))
  if (by !== 'day') rows.sort((a, b) => b.share - a.share)
  return (
    <section class="card chart" aria-label={title}>
      <h2>{title}</h2>
      <table class="listed">
        <thead class="visually-hidden">
          <tr>
            <th scope="col">{title}</th>
            <th scope="col">Share of the largest</th>
            <th scope="col">Cost</th>
            <th scope="col">Tokens</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ item, share }) => (
            <Row item={item} by={by} share={share} />
          ))}
        </tbody>
      </table>
      {page.next !== undefined && (
        <p class="muted">
          The first {page.items.length}. <a href={withQuery(auditPath('spend'), { ...query, by })}>All of them</a>
        </p>
      )}
    </section>
  )
}

const BAR_PX = 260

function Row({ item, by, share }: { readonly item: JsonObject; readonly by: string; readonly share: number }) {
  const key = textIn(item, 'key') ?? ''
  const currency = textIn(item, 'currency')
  return (
    <tr>
      <th scope="row">
        {by === 'run' && key !== '' ? (
          <a href={runPath(key)}>
            <Data text={key} />
          </a>
        ) : (
          <Data text={key === '' ? 'not said' : key} />
        )}
      </th>
      <td class="bar-cell">
        <svg
          class="share"
          width={BAR_PX}
          height={14}
          viewBox={`0 0 ${BAR_PX} 14`}
          preserveAspectRatio="none"
          aria-hidden="true"
        >
          <rect class="share-ground" x={0} y={0} width={BAR_PX} height={14} rx={3} />
          <rect class="share-bar" x={0} y={0} width={Math.max(2, Math.round(share * BAR_PX))} height={14} rx={3} />
        </svg>
      </td>
      <td class="number">{money(textIn(item, 'cost') ?? '0', currency)}</td>
      <td class="number muted">{count(numberIn(item, 'tokens') ?? 0)} tokens</td>
    </tr>
  )
}

/** Of the largest in the same currency; where no money was spent, of tokens. */
function sharesOf(items: readonly JsonObject[]): readonly number[] {
  const amounts = items.map((item) => ({
    currency: textIn(item, 'currency') ?? '',
    cost: Number(toNano((textIn(item, 'cost') ?? '0').replace('-', ''))),
    tokens: numberIn(item, 'tokens') ?? 0,
  }))
  return amounts.map(({ currency, cost, tokens }) => {
    const same = amounts.filter((other) => other.currency === currency)
    const most = Math.max(...same.map((other) => other.cost))
    if (most > 0) return cost / most
    return tokens / Math.max(1, ...same.map((other) => other.tokens))
  })
}
