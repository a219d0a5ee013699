/** @module What a chart of spending draws: a bar a row, as long as its amount, on a scale for each currency. Pure. */
import type { JsonObject } from '../../schemas/json.ts'
import { addMoney, MONEY_SCALE, toNano } from '../../schemas/money.ts'
import { count, money } from './format.ts'
import { numberIn, textIn } from './item-members.ts'

/** Held for calls that have not ended: no part of what was spent. */
export interface Reserved {
  readonly agent: string
  readonly run: string
  readonly reservations: number
  readonly tokens: number
  readonly cost: string
  readonly currency?: string
}

export interface Bar {
  readonly key: string
  readonly tokens: number
  readonly cost: string
  readonly reservedTokens: number
  readonly reservedCost: string
  /** Parts of the scale, 0 to 1. */
  readonly spent: number
  readonly reserved: number
}

export interface Scale {
  /** Absent: amounts without a currency. */
  readonly currency?: string
  /** What the bars measure: the currency, or tokens where no money was spent. */
  readonly unit: string
  /** Of the axis, evenly apart: `0`, `0.25`, `0.5 USD`. */
  readonly ticks: readonly string[]
  readonly bars: readonly Bar[]
}

interface Amounts extends Omit<Bar, 'spent' | 'reserved'> {
  readonly currency: string
}

/** Largest first, but for days, which stay in their order. */
export function spendScales(
  items: readonly JsonObject[],
  {
    by,
    reserved,
    isComplete,
  }: { readonly by: string; readonly reserved: readonly Reserved[]; readonly isComplete: boolean },
): readonly Scale[] {
  const held = by === 'agent' || by === 'run' ? heldBy(by, reserved) : new Map<string, Held>()
  const rows = items.map((item): Amounts => {
    const [key, currency] = [textIn(item, 'key') ?? '', textIn(item, 'currency') ?? '']
    const own = held.get(placeOf(key, currency))
    held.delete(placeOf(key, currency))
    const spent = { key, currency, tokens: numberIn(item, 'tokens') ?? 0, cost: textIn(item, 'cost') ?? '0' }
    return { ...spent, reservedTokens: own?.tokens ?? 0, reservedCost: own?.cost ?? '0' }
  })
  // Of groups that are on no page here it is not known that they spent nothing.
  const waiting = isComplete ? [...held.values()] : []
  for (const { key, currency, tokens, cost } of waiting)
    rows.push({ key, currency, tokens: 0, cost: '0', reservedTokens: tokens, reservedCost: cost })
  const currencies = [...new Set(rows.map(({ currency }) => currency))]
  return currencies.map((currency) => {
    const own = rows.filter((row) => row.currency === currency)
    return scaleOf(own, currency, by !== 'day' && by !== 'month')
  })
}

interface Held {
  readonly key: string
  readonly currency: string
  tokens: number
  cost: string
}

const placeOf = (key: string, currency: string): string => JSON.stringify([key, currency])

function heldBy(by: 'agent' | 'run', reserved: readonly Reserved[]): Map<string, Held> {
  const held = new Map<string, Held>()
  for (const { tokens, cost, currency = '', ...names } of reserved) {
    const place = placeOf(names[by], currency)
    const known = held.get(place) ?? { key: names[by], currency, tokens: 0, cost: '0' }
    known.tokens += tokens
    known.cost = addMoney(known.cost, cost)
    held.set(place, known)
  }
  return held
}

function scaleOf(rows: readonly Amounts[], currency: string, isSorted: boolean): Scale {
  const isMoney = rows.some((row) => nano(row.cost) + nano(row.reservedCost) > 0)
  const sizesOf = (row: Amounts): readonly [spent: number, reserved: number] =>
    isMoney ? [nano(row.cost), nano(row.reservedCost)] : [row.tokens, row.reservedTokens]
  const most = Math.max(...rows.map((row) => sizesOf(row)[0] + sizesOf(row)[1]))
  const end = isMoney ? roundEnd(most / NANO) * NANO : roundEnd(most)
  const bars = rows.map((row): Bar => {
    const { currency: _, ...amounts } = row
    const [spent, reserved] = sizesOf(row)
    return { ...amounts, spent: spent / end, reserved: reserved / end }
  })
  if (isSorted) bars.sort((a, b) => b.spent + b.reserved - (a.spent + a.reserved))
  const unit = isMoney ? currency : 'tokens'
  const ticks = isMoney ? moneyTicks(end / NANO, currency) : ['0', count(end / 2), `${count(end)} tokens`]
  return { ...(currency !== '' && { currency }), unit, ticks, bars }
}

const NANO = Number(MONEY_SCALE)

/** A correction may be below nothing: a bar has no length then. */
const nano = (cost: string): number => (cost.startsWith('-') ? 0 : Number(toNano(cost)))

function moneyTicks(end: number, currency: string): readonly string[] {
  const text = (amount: number): string => money(decimal(amount), undefined)
  return ['0', text(end / 2), `${text(end)}${currency === '' ? '' : ` ${currency}`}`]
}

const decimal = (amount: number): string => (amount >= 1 ? String(amount) : String(Number(amount.toPrecision(6))))

const ROUND = [1, 2, 4, 5, 10]

/** The next round number: where an axis may end. */
export function roundEnd(most: number): number {
  if (most <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(most))
  const step = ROUND.find((each) => each * power >= most * (1 - 1e-12)) ?? 10
  return Number((step * power).toPrecision(12))
}
