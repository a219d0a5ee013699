/** @module The cost of a call: reserved with its claim, reported with its outcome (RUN-43). */
import type { Reserve } from '../../../schemas/requests.ts'
import { isUsage } from '../../../schemas/value-forms.ts'
import type { Usage } from '../../../schemas/values.ts'
import { costOf } from '../runtime/run-options.ts'
import { thrownText } from '../thrown.ts'
import { checkReserve } from './check-tool.ts'
import type { Attempted } from './execute-call.ts'
import type { ToolOptions, ToolReserve, ToolUsage } from './tool-options.ts'

export interface Spending {
  /** Reserved on the budget for each attempt, while it runs. */
  readonly reserve?: Reserve | ((args: unknown) => Reserve | undefined | Promise<Reserve | undefined>)
  /** Usage of a successful attempt; undefined means none, so that the whole reservation is released. */
  readonly usage?: (result: unknown, of: Tried) => Usage | undefined
  /** Usage of an attempt that failed or was cut off; default: none. */
  readonly usageOfFailure?: (failed: Attempted, of: Tried) => Usage | undefined
}

interface Tried {
  readonly args: unknown
  readonly reserved: Reserve | undefined
}

/** The spending of a tool, from its `reserve` and `usage` options. */
export function toolSpending(tool: string, { reserve, usage }: ToolOptions): Spending {
  if (reserve === undefined && usage === undefined) return {}
  return {
    reserve: (args) => {
      const request = typeof reserve === 'function' ? reserve(args) : reserve
      if (typeof reserve === 'function' && request !== undefined) checkReserve(tool, request)
      return request === undefined ? undefined : reserveOf(request)
    },
    usage: (result, { args, reserved }) =>
      usage === undefined ? inFull(reserved) : usageOf(usage(result, args), reserved),
  }
}

export async function reservedFor({ reserve }: Spending, args: unknown): Promise<Reserve | undefined> {
  return typeof reserve === 'function' ? reserve(args) : reserve
}

/** The usage to record with the outcome. If the author's `usage` fails or is invalid, a warning is emitted and the full reservation is recorded. */
export function usedBy(tool: string, spending: Spending, attempted: Attempted, of: Tried): Usage | undefined {
  try {
    const used =
      attempted.kind === 'succeeded' ? spending.usage?.(attempted.value, of) : spending.usageOfFailure?.(attempted, of)
    if (used === undefined) return undefined
    if (isUsage(used)) return { ...used }
    warnOfUsage(tool, 'what it gave is no usage, such as { tokens: 5, cost: "0.02 USD" }')
  } catch (error) {
    warnOfUsage(tool, thrownText(error))
  }
  return inFull(of.reserved)
}

/** Warns that only the usage differs from what the author reported; the outcome is recorded. */
export function warnOfUsage(tool: string, reason: string): void {
  const message = `the usage of ${tool} was not taken (${reason}): what was reserved for the call is recorded in its place, as an estimate`
  process.emitWarning(message, { code: 'COUNTERSIGN_USAGE' })
}

/** The full reservation, as an estimate. */
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

/** Strict: a misspelt member or a promise must not be taken for a call that cost nothing. */
function usageOf(used: ToolUsage | undefined, reserved: Reserve | undefined): Usage | undefined {
  if (used === undefined) return inFull(reserved)
  if (used instanceof Promise) used.catch(() => undefined)
  const { tokens = 0, cost, ...other } = used
  const unknown = used instanceof Promise ? 'a promise' : Object.keys(other)[0]
  if (unknown !== undefined) throw new TypeError(`usage gives { tokens, cost }, and not ${unknown}`)
  return { tokens, ...(cost !== undefined && moneyOf(cost)) }
}

function moneyOf(text: string): { readonly cost: string; readonly currency: string } {
  const { limit, currency } = costOf(text)
  return { cost: limit, currency }
}
