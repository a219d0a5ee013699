/** @module What a call costs: reserved in its claim, reported with its outcome (RUN-43). */
import type { Reserve } from '../../../schemas/requests.ts'
import { isUsage } from '../../../schemas/value-forms.ts'
import type { Usage } from '../../../schemas/values.ts'
import { costOf } from '../runtime/run-options.ts'
import type { Attempted } from './execute-call.ts'
import type { ToolOptions, ToolReserve, ToolUsage } from './tool-options.ts'

export interface Spending {
  /** Held on the budget by each try, while it runs. */
  readonly reserve?: Reserve | ((args: unknown) => Reserve | undefined | Promise<Reserve | undefined>)
  /** What a try used, according to its result; undefined: nothing, so that what it held is returned. */
  readonly usage?: (result: unknown, of: Tried) => Usage | undefined
  /** What a try used that failed or was cut; default: nothing. */
  readonly usageOfFailure?: (failed: Attempted, of: Tried) => Usage | undefined
}

interface Tried {
  readonly args: unknown
  readonly reserved: Reserve | undefined
}

/** What a tool's author says of its cost. */
export function toolSpending({ reserve, usage }: ToolOptions): Spending {
  if (reserve === undefined && usage === undefined) return {}
  return {
    reserve: (args) => {
      const request = typeof reserve === 'function' ? reserve(args) : reserve
      return request === undefined ? undefined : reserveOf(request)
    },
    usage: (result, { args, reserved }) => (usage === undefined ? inFull(reserved) : usageOf(usage(result, args))),
  }
}

export async function reservedFor({ reserve }: Spending, args: unknown): Promise<Reserve | undefined> {
  return typeof reserve === 'function' ? reserve(args) : reserve
}

/** What is recorded with the outcome: where the author's own count fails or makes no sense, all that was reserved. */
export function usedBy(spending: Spending, attempted: Attempted, of: Tried): Usage | undefined {
  try {
    const used =
      attempted.kind === 'succeeded' ? spending.usage?.(attempted.value, of) : spending.usageOfFailure?.(attempted, of)
    if (used === undefined) return undefined
    return isUsage(used) ? { ...used } : inFull(of.reserved)
  } catch {
    return inFull(of.reserved)
  }
}

/** All that was reserved, as an estimate. */
export function inFull(reserved: Reserve | undefined): Usage | undefined {
  if (reserved === undefined) return undefined
  const { tokens = 0, cost, currency, provider, model } = reserved
  return {
    tokens,
    ...(cost !== undefined && { cost }),
    ...(currency !== undefined && { currency }),
    ...(provider !== undefined && { provider }),
    ...(model !== undefined && { model }),
    estimated: true,
  }
}

function reserveOf({ agent, tokens, cost, deadlineMs }: ToolReserve): Reserve {
  return {
    ...(agent !== undefined && { agent }),
    ...(tokens !== undefined && { tokens }),
    ...(cost !== undefined && moneyOf(cost)),
    ...(deadlineMs !== undefined && { deadlineMs }),
  }
}

function usageOf({ tokens = 0, cost }: ToolUsage): Usage {
  return { tokens, ...(cost !== undefined && moneyOf(cost)) }
}

function moneyOf(text: string): { readonly cost: string; readonly currency: string } {
  const { limit, currency } = costOf(text)
  return { cost: limit, currency }
}
