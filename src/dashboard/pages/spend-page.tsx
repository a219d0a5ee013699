/** @module Spend, summed from the events: by agent, by model, by day and by run. */
import { z } from 'zod'
import type { JsonObject } from '../../../schemas/json.ts'
import { addMoney } from '../../../schemas/money.ts'
import { READ_TENANT_RECORDED_BEHIND } from '../../access/access.ts'
import type { AuditPage } from '../../ledger/audit/audit-reads.ts'
import { money, plural } from '../format.ts'
import { numberIn, textIn } from '../item-members.ts'
import { pageRoute } from '../page.ts'
import { Fact } from '../parts/fact.tsx'
import { PeriodChips, PeriodFields } from '../parts/period-fields.tsx'
import { Estimated, SpendChart } from '../parts/spend-chart.tsx'
import { TakenAnswer } from '../parts/taken-answer.tsx'
import { auditPath, SPEND } from '../paths.ts'
import type { Reserved } from '../spend-bars.ts'
import { asOfIn } from './audit-filters.ts'
import { queryAudit } from './audit-query.ts'
import { periodOf, When, Zone } from './run-filters.ts'

/** Groups per chart, the largest of each currency; the linked table has all. */
const GROUPS = 20
/** Number of newest days. */
const DAYS = 60
const CHARTS = [
  ['agent', 'By agent'],
  ['model', 'By model'],
  ['run', 'By run'],
] as const

/** Every group of each, where the charts show the largest. */
const TAKEN = [['tenant', 'Total'], ['day', 'By day'], ...CHARTS] as const

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
    const ask = (by: string, limit: number, treeSize = asOf) =>
      queryAudit(
        view,
        { name: 'spend', filter, by, whole: true },
        { limit, ...(treeSize !== undefined && { treeSize }) },
      )
    const total = await ask('tenant', GROUPS)
    // All parts as of the same size of the log, so that their sums agree.
    const { treeSize } = total.asOf
    const [held, days, ...charts] = await Promise.all([
      queryAudit(view, { name: 'open-reservations', filter, whole: true }, { limit: GROUPS, treeSize }),
      ask('day', DAYS, treeSize),
      ...CHARTS.map(([by]) => ask(by, GROUPS, treeSize)),
    ])
    const body = (
      <>
        <SpendBody query={view.query} total={total} held={held} days={days} charts={charts} />
        <TakenAnswer
          view={view}
          question="Spend: tokens and money by day, agent, model and run, and what is reserved"
          answers={[
            ...TAKEN.map(([by, label]) => ({ name: 'spend', label, params: { ...filter, by } }) as const),
            { name: 'open-reservations', label: 'Reservations without an end', params: filter },
          ]}
          period={filter}
          treeSize={treeSize}
        />
      </>
    )
    return { title: 'Spend', nav: 'spend', scripts: ['zones.js'], body }
  },
})

interface BodyProps {
  readonly query: SpendQuery
  readonly total: AuditPage
  readonly held: AuditPage
  readonly days: AuditPage
  readonly charts: readonly AuditPage[]
}

function SpendBody({ query, total, held, days, charts }: BodyProps) {
  const reserved = reservedOf(held.items)
  const chart = (title: string, by: string, page: AuditPage) => (
    <SpendChart title={title} by={by} items={page.items} reserved={reserved} rest={page.rest ?? []} query={query} />
  )
  return (
    <>
      <div class="page-head">
        <div>
          <h1>Spend</h1>
          <p class="muted">Summed from the recorded usage, as of {plural(total.asOf.treeSize, 'event')} of the log.</p>
        </div>
      </div>
      <PeriodChips path={SPEND} query={query} />
      <form autocomplete="off" method="get" class="filters" aria-label="Period">
        <PeriodFields since={query.since} until={query.until} zone={query.zone} />
        <div>
          <label for="f-asOf">As of so many events</label>
          <input id="f-asOf" type="text" name="asOf" value={query.asOf ?? ''} maxlength={15} autocomplete="off" />
        </div>
        <button type="submit" class="button">
          Show
        </button>
      </form>
      {total.items.length === 0 && reserved.length === 0 ? (
        <div class="empty">
          <p class="empty-title">
            Nothing was spent{query.since === undefined && query.until === undefined ? ' yet' : ' in this period'}
          </p>
          <p>Settle a call or a reservation with its usage, or post it to /v1/runs/&#123;run&#125;/usage.</p>
        </div>
      ) : (
        <>
          <Totals page={total} reserved={reserved} />
          {chart('By day', 'day', days)}
          <div class="columns columns-even">
            {charts.slice(0, 2).map((page, index) => chart(CHARTS[index]?.[1] ?? '', CHARTS[index]?.[0] ?? '', page))}
          </div>
          {charts.slice(2).map((page) => chart('By run', 'run', page))}
        </>
      )}
    </>
  )
}

interface TotalsProps {
  readonly page: AuditPage
  readonly reserved: readonly Reserved[]
}

/** The spend, and separately the amount reserved for calls that have not ended. */
function Totals({ page, reserved }: TotalsProps) {
  const currencies = [...new Set(reserved.map(({ currency }) => currency))]
  const reservations = reserved.reduce((sum, each) => sum + each.reservations, 0)
  return (
    <dl class="facts">
      {page.items.map((item) => (
        <Fact label={`Spent${textIn(item, 'currency') === undefined ? '' : `, ${textIn(item, 'currency')}`}`}>
          {money(textIn(item, 'cost') ?? '0', textIn(item, 'currency'))}{' '}
          <span class="muted">{plural(numberIn(item, 'tokens') ?? 0, 'token')}</span>
          <Estimated item={item} />
        </Fact>
      ))}
      <Fact label="Reserved, not spent">
        {reserved.length === 0 && <span class="muted">nothing</span>}
        {currencies.map((currency) => (
          <Held reserved={reserved.filter((each) => each.currency === currency)} currency={currency} />
        ))}
        {reserved.length > 0 && <a href={auditPath('open-reservations')}>{plural(reservations, 'reservation')}</a>}
      </Fact>
    </dl>
  )
}

function Held({ reserved, currency }: Pick<TotalsProps, 'reserved'> & { readonly currency: string | undefined }) {
  const cost = reserved.reduce((sum, each) => addMoney(sum, each.cost), '0')
  const tokens = reserved.reduce((sum, each) => sum + each.tokens, 0)
  return (
    <>
      {money(cost, currency)} <span class="muted">{plural(tokens, 'token')}</span>{' '}
    </>
  )
}

function reservedOf(items: readonly JsonObject[]): readonly Reserved[] {
  return items.map((item) => ({
    agent: textIn(item, 'agent') ?? '',
    run: textIn(item, 'run') ?? '',
    reservations: numberIn(item, 'reservations') ?? 0,
    tokens: numberIn(item, 'tokens') ?? 0,
    cost: textIn(item, 'cost') ?? '0',
    ...(typeof item.currency === 'string' && { currency: item.currency }),
  }))
}
