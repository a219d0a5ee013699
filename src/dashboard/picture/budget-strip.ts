/** @module The budget below the lanes: the remaining amount as a falling line; without a limit, the amount spent as a rising line. */
import { fromNano, toNano } from '../../../schemas/money.ts'
import type { BudgetPoint } from '../story/story-parts.ts'
import type { Scale } from './scale.ts'

export interface Limits {
  readonly tokens?: number | undefined
  /** Decimal string. */
  readonly cost?: string | undefined
  readonly currency?: string
}

export interface BudgetStrip {
  readonly y: number
  readonly height: number
  readonly kind: 'left' | 'spent'
  readonly unit: 'cost' | 'tokens'
  /** Points of the step line in pixels: zero is at the bottom; the limit, or without one the largest amount, is at the top. */
  readonly line: readonly { readonly x: number; readonly y: number }[]
  /** Like `line`, with reserved amounts counted as spent. */
  readonly reserved: readonly { readonly x: number; readonly y: number }[]
  /** Amount at the end of the line, in the unit. */
  readonly spent: string
  readonly held: string
  /** Absent without a limit. */
  readonly cap?: string
  readonly overshot: boolean
}

export interface StripOptions {
  readonly limits: Limits
  readonly y: number
  readonly height: number
  readonly scale: Scale
}

/** Undefined if nothing was spent and there is no limit. */
export function layoutBudget(points: readonly BudgetPoint[], options: StripOptions): BudgetStrip | undefined {
  const { limits, y, height, scale } = options
  const last = points.at(-1)
  if (last === undefined) return undefined
  const unit = unitOf(limits, last)
  const spent = points.map((point) => amounts(point, unit))
  const limit = limitOf(limits, unit)
  // biome-ignore lint/complexity/useMathMinMax: these are bigints
  const most = spent.reduce((max, { held }) => (held > max ? held : max), 0n)
  if (limit === undefined && most === 0n) return undefined
  const top = limit ?? most
  const heightOf = (amount: bigint): number =>
    top === 0n ? 0 : Math.min(1, Math.max(0, Number((amount * 10_000n) / top) / 10_000))
  const levels = spent.map(({ used, held }) => ({
    line: limit === undefined ? heightOf(used) : heightOf(limit - used),
    reserved: limit === undefined ? heightOf(held) : heightOf(limit - held),
  }))
  const steps = (levelOf: (level: (typeof levels)[number]) => number) =>
    stepLine(points, levels.map(levelOf), { y, height, scale })
  return {
    y,
    height,
    unit,
    kind: limit === undefined ? 'spent' : 'left',
    line: steps(({ line }) => line),
    reserved: steps(({ reserved }) => reserved),
    ...amountsSaid(spent.at(-1), limit, unit),
    overshot: limit !== undefined && spent.some(({ used }) => used > limit),
  }
}

/** Spent and reserved amounts are stated separately. */
function amountsSaid(
  end: { readonly used: bigint; readonly held: bigint } | undefined,
  limit: bigint | undefined,
  unit: 'cost' | 'tokens',
): Pick<BudgetStrip, 'spent' | 'held' | 'cap'> {
  const { used, held } = end ?? { used: 0n, held: 0n }
  const amountText = (amount: bigint): string => (unit === 'cost' ? decimal(amount) : String(amount))
  return {
    spent: amountText(used),
    held: amountText(held - used),
    ...(limit !== undefined && { cap: amountText(limit) }),
  }
}

const decimal = (amount: bigint): string => (amount < 0n ? `-${fromNano(-amount)}` : fromNano(amount))

function unitOf({ tokens, cost }: Limits, last: BudgetPoint): 'cost' | 'tokens' {
  if (cost !== undefined) return 'cost'
  if (tokens !== undefined) return 'tokens'
  return last.cost === '0' ? 'tokens' : 'cost'
}

function limitOf({ tokens, cost }: Limits, unit: 'cost' | 'tokens'): bigint | undefined {
  if (unit === 'cost') return cost === undefined ? undefined : toNano(cost)
  return tokens === undefined ? undefined : BigInt(tokens)
}

function amounts(point: BudgetPoint, unit: 'cost' | 'tokens'): { readonly used: bigint; readonly held: bigint } {
  const { tokens, cost, reservedTokens, reservedCost } = point
  if (unit === 'tokens') return { used: BigInt(tokens), held: BigInt(tokens + reservedTokens) }
  const used = nanoOf(cost)
  return { used, held: used + nanoOf(reservedCost) }
}

/** A late settlement may briefly correct a sum to below zero. */
function nanoOf(amount: string): bigint {
  return amount.startsWith('-') ? -toNano(amount.slice(1)) : toNano(amount)
}

function stepLine(
  points: readonly BudgetPoint[],
  levels: readonly number[],
  { y, height, scale }: Pick<StripOptions, 'y' | 'height' | 'scale'>,
): readonly { readonly x: number; readonly y: number }[] {
  const line: { x: number; y: number }[] = []
  points.forEach((point, index) => {
    const x = index === 0 ? 0 : scale.x(point)
    const at = y + height * (1 - (levels[index] ?? 0))
    const before = line.at(-1)
    if (before !== undefined) line.push({ x, y: before.y })
    line.push({ x, y: at })
  })
  const end = line.at(-1)
  if (end !== undefined) line.push({ x: scale.width, y: end.y })
  return line
}
