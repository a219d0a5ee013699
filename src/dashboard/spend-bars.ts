/** @module Data of a spend chart: a bar per row, proportional to its amount, on one scale per currency. Pure. */
import type { JsonObject } from '../../schemas/json.ts'
import { addMoney, MONEY_SCALE, toNano } from '../../schemas/money.ts'
import { count, money } from './format.ts'
import { numberIn, textIn } from './item-members.ts'

/** Amounts reserved for calls that have not ended; they are not part of the spend. */
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
  /** The parts of `cost`. */
  readonly reportedCost: string
  readonly estimatedCost: string
  readonly reservedTokens: number
  readonly reservedCost: string
  /** Fractions of the scale, from 0 to 1. */
  readonly spent: number
  readonly reserved: number
}

export interface Scale {
  /** Absent for amounts without a currency. */
  readonly currency?: string
  /** Unit of the bars: the currency, or tokens if no money was spent or reserved. */
  readonly unit: string
  /** Labels of the axis at equal distances: `0`, `0.25`, `0.5 USD`. */
  readonly ticks: readonly string[]
  readonly bars: readonly Bar[]
}

interface Amounts extends Omit<Bar, 'spent' | 'reserved'> {
  readonly currency: string
}

/** Bars ordered by size, largest first, except for days and months, which keep their order. */
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
    const cost = textIn(item, 'cost') ?? '0'
    const parts = {
      reportedCost: textIn(item, 'reportedCost') ?? cost,
      estimatedCost: textIn(item, 'estimatedCost') ?? '0',
    }
    const spent = { key, currency, tokens: numberIn(item, 'tokens') ?? 0, cost, ...parts }
    return { ...spent, reservedTokens: own?.tokens ?? 0, reservedCost: own?.cost ?? '0' }
  })
  // Groups that are not among the items may have spent something, so they are added only if the items are complete.
  const waiting = isComplete ? [...held.values()] : []
  for (const { key, currency, tokens, cost } of waiting)
    rows.push({ key, currency, ...NONE, reservedTokens: tokens, reservedCost: cost })
  const currencies = [...new Set(rows.map(({ currency }) => currency))]
  return currencies.map((currency) => {
    const own = rows.filter((row) => row.currency === currency)
    return scaleOf(own, currency, by !== 'day' && by !== 'month')
  })
}

const NONE = { tokens: 0, cost: '0', reportedCost: '0', estimatedCost: '0' } as const

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

/** A correction may make an amount negative: its bar then has no length. */
const nano = (cost: string): number => (cost.startsWith('-') ? 0 : Number(toNano(cost)))

function moneyTicks(end: number, currency: string): readonly string[] {
  const text = (amount: number): string => money(decimal(amount), undefined)
  return ['0', text(end / 2), `${text(end)}${currency === '' ? '' : ` ${currency}`}`]
}

const decimal = (amount: number): string => (amount >= 1 ? String(amount) : String(Number(amount.toPrecision(6))))

const ROUND = [1, 2, 4, 5, 10]

/** The next round number, as the end of an axis. */
export function roundEnd(most: number): number {
  if (most <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(most))
  const step = ROUND.find((each) => each * power >= most * (1 - 1e-12)) ?? 10
  return Number((step * power).toPrecision(12))
}
