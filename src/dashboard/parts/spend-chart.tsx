/** @module A chart of spend: primarily a table, so that no amount is shown by length alone; its bars are proportional to the amounts. */

import type { JsonObject } from '../../../schemas/json.ts'
import { count, money } from '../format.ts'
import { numberIn, textIn } from '../item-members.ts'
import { auditPath, runPath, withQuery } from '../paths.ts'
import { type Bar, type Reserved, type Scale, spendScales } from '../spend-bars.ts'
import { Data } from './data.tsx'

export interface SpendChartProps {
  readonly title: string
  readonly by: string
  readonly items: readonly JsonObject[]
  readonly reserved: readonly Reserved[]
  /** Totals of the groups that are not among the items, by currency. */
  readonly rest: readonly JsonObject[]
  readonly query: Readonly<Record<string, string | undefined>>
}

export function SpendChart({ title, by, items, reserved, rest, query }: SpendChartProps) {
  const scales = spendScales(items, { by, reserved, isComplete: rest.length === 0 })
  return (
    <section class="card chart" aria-label={title}>
      <h2>{title}</h2>
      {scales.map((scale) => (
        <Bars title={title} by={by} scale={scale} />
      ))}
      {rest.length > 0 && (
        <p class="muted">
          {rest.map((each) => (
            <>
              <OtherSpending sum={each} groups={by === 'day' ? 'earlier days' : 'more'} />.{' '}
            </>
          ))}
          <a href={withQuery(auditPath('spend'), { ...query, by })}>All of them</a>
        </p>
      )}
    </section>
  )
}

/** Total of the groups that are not listed, in one currency. */
export function OtherSpending({ sum, groups = 'more' }: { readonly sum: JsonObject; readonly groups?: string }) {
  return (
    <>
      and {count(numberIn(sum, 'groups') ?? 0)} {groups}: {money(textIn(sum, 'cost') ?? '0', textIn(sum, 'currency'))}
      <Estimated item={sum} />, {count(numberIn(sum, 'tokens') ?? 0)} tokens
    </>
  )
}

/** The part of a sum that is estimated, if there is any. */
export function Estimated({ item }: { readonly item: JsonObject }) {
  const [cost, tokens] = [textIn(item, 'estimatedCost') ?? '0', numberIn(item, 'estimatedTokens') ?? 0]
  if (cost === '0' && tokens === 0) return null
  return (
    <span class="muted">
      {' '}
      (of it estimated: {money(cost, textIn(item, 'currency'))}, {count(tokens)} tokens)
    </span>
  )
}

function Bars({ title, by, scale }: Pick<SpendChartProps, 'title' | 'by'> & { readonly scale: Scale }) {
  const { unit, ticks, bars, currency } = scale
  const hasReserved = bars.some(({ reserved }) => reserved > 0)
  return (
    <>
      <p class="chart-legend muted">
        <span class="swatch swatch-spent"></span> spent
        {hasReserved && (
          <>
            <span class="swatch swatch-reserved"></span> reserved, not spent
          </>
        )}
        <span class="chart-range">
          bars from {ticks[0]} to {ticks.at(-1)}
        </span>
      </p>
      {/* A box that scrolls and holds no link has to take the focus itself, for the keyboard. */}
      <div class="table-scroll" tabindex={0} role="region" aria-label={title}>
        <table class="listed">
          <thead>
            <tr>
              <th scope="col">
                <span class="visually-hidden">{title}</span>
              </th>
              <th scope="col">
                <span class="visually-hidden">Spent, in {unit}: </span>
                <span class="axis">
                  {ticks.map((tick) => (
                    <span>{tick}</span>
                  ))}
                </span>
              </th>
              <th scope="col" class="number">
                Reported
              </th>
              <th scope="col" class="number">
                Estimated
              </th>
              <th scope="col" class="number">
                Tokens
              </th>
            </tr>
          </thead>
          <tbody>
            {bars.map((bar) => (
              <Row bar={bar} by={by} currency={currency} />
            ))}
          </tbody>
        </table>
      </div>
    </>
  )
}

const BAR_PX = 1_000
const BAR_MIN_PX = 4

/** An amount above zero is always visible; zero has no bar. */
const widthOf = (part: number): number => (part === 0 ? 0 : Math.max(BAR_MIN_PX, Math.round(part * BAR_PX)))

function Row({ bar, by, currency }: { readonly bar: Bar; readonly by: string; readonly currency: string | undefined }) {
  const { key, reportedCost, estimatedCost, tokens, reservedCost, reservedTokens, spent, reserved } = bar
  const [spentPx, reservedPx] = [widthOf(spent), widthOf(reserved)]
  return (
    <tr>
      <th scope="row">
        {by === 'run' && key !== '' ? (
          <a href={runPath(key)}>
            <Data text={key} />
          </a>
        ) : (
          <Data text={key === '' ? 'not named' : key} />
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
          <rect class="share-ground" x={0} y={0} width={BAR_PX} height={14} />
          {spentPx > 0 && <rect class="share-bar" x={0} y={0} width={spentPx} height={14} />}
          {reservedPx > 0 && <rect class="share-reserved" x={spentPx} y={1} width={reservedPx} height={12} />}
          <line class="share-half" x1={BAR_PX / 2} x2={BAR_PX / 2} y1={0} y2={14} />
        </svg>
      </td>
      <td class="number">
        {money(reportedCost, currency)}
        {reservedCost !== '0' && <span class="sub muted">{money(reservedCost, currency)} reserved</span>}
      </td>
      <td class="number estimated">{estimatedCost === '0' ? '' : money(estimatedCost, currency)}</td>
      <td class="number muted">
        {count(tokens)} tokens
        {reservedTokens > 0 && <span class="sub">{count(reservedTokens)} reserved</span>}
      </td>
    </tr>
  )
}
