/** @module The maximum cost of a model call, and whether it may be made at all (RUN-43, RUN-46). Pure. */
import type { JsonObject } from '../../../schemas/json.ts'
import { toNano } from '../../../schemas/money.ts'
import type { Reserve } from '../../../schemas/requests.ts'
import { TOKENS_MAX } from '../../../schemas/value-forms.ts'
import type { BudgetLimits } from '../../../schemas/values.ts'
import { AgentError } from '../errors.ts'
import type { Rate } from './model-usage.ts'
import { isFree, outputFor, pricedAtMost } from './price-table.ts'

/** What is left under the limits that apply to a call; undefined for a dimension without a limit. */
export interface RemainingBudget {
  readonly tokens: number | undefined
  readonly nano: bigint | undefined
}

export interface Projected {
  readonly agent: string | undefined
  readonly rate: Rate
  readonly inputTokens: number
  /** The caller's own output limit. */
  readonly outputTokens: number | undefined
  /** Maximum output of the model, if the caller sets no limit. */
  readonly maxOutputTokens: number | undefined
  /** Whether the provider accepts a lower output limit. */
  readonly boundable: boolean
}

export interface Projection {
  /** The output limit for the provider; undefined if the call is unlimited. */
  readonly outputTokens: number | undefined
  readonly reserve: Reserve | undefined
}

/** The reservation for a model call. Throws `unbounded-output` and `unknown-price`. The ledger decides whether the budget covers it. */
export function project(call: Projected, remaining: RemainingBudget): Projection {
  const { agent, rate, inputTokens } = call
  const { provider, model, price, currency } = rate
  if (remaining.nano !== undefined && price === undefined) {
    const message = `${provider}/${model} is not in the price table, and this run has a limit of cost: pass its price with open({prices}), or price: 'free'`
    throw new AgentError('unknown-price', message, { provider, model })
  }
  const outputTokens = call.outputTokens ?? boundOf(call, remaining)
  if (outputTokens === undefined) {
    // A free model cannot exceed a cost limit, so it needs no output limit.
    const costs = remaining.nano !== undefined && !(price !== undefined && isFree(price))
    if (remaining.tokens === undefined && !costs) return { outputTokens, reserve: undefined }
    const message = `nothing bounds the answer of ${provider}/${model}, and this run has a budget: name a limit in the request, or pass maxOutputTokens`
    throw new AgentError('unbounded-output', message, { provider, model })
  }
  const reserve = {
    ...(agent !== undefined && { agent }),
    tokens: Math.min(TOKENS_MAX, inputTokens + outputTokens),
    ...(price !== undefined && { cost: pricedAtMost(price, { input: inputTokens, output: outputTokens }) }),
    ...(price !== undefined && currency !== undefined && { currency }),
    provider,
    model,
  }
  return { outputTokens, reserve }
}

/** The smaller of the model's maximum output and the remaining budget, but at least one token, so that the ledger refuses the call and records the refusal. */
function boundOf(
  { rate, inputTokens, maxOutputTokens, boundable }: Projected,
  remaining: RemainingBudget,
): number | undefined {
  if (maxOutputTokens === undefined || !boundable) return maxOutputTokens
  const bounds = [maxOutputTokens]
  if (remaining.tokens !== undefined) bounds.push(remaining.tokens - inputTokens)
  if (remaining.nano !== undefined && rate.price !== undefined) {
    const forOutput = remaining.nano - toNano(pricedAtMost(rate.price, { input: inputTokens, output: 0 }))
    bounds.push((forOutput <= 0n ? 0 : outputFor(rate.price, forOutput)) ?? maxOutputTokens)
  }
  return Math.max(1, Math.min(...bounds))
}

interface Spent {
  readonly tokens?: number
  readonly cost?: string
  readonly reservedTokens?: number
  readonly reservedCost?: string
}

/**
 * Reads the remaining budget from the ledger's budget document. If no agent is named, the ledger charges the writer, whom only the ledger knows: the limits of
 * all agents then apply, each in full, because it is unknown here what is left of them.
 */
export function remainingIn(document: JsonObject, agent: string | undefined): RemainingBudget {
  const limits = document.limits as { readonly tokens?: number; readonly cost?: string }
  const ofRun = remainderOf(limits, document as Spent)
  const agentLimits = document.agentLimits as Readonly<
    Record<string, { readonly tokens?: number; readonly cost?: string }>
  >
  const agents = document.agents as Readonly<Record<string, Spent>>
  const named = Object.entries(agentLimits).filter(([name]) => agent === undefined || name === agent)
  return named
    .map(([name, limit]) => remainderOf(limit, agent !== undefined && Object.hasOwn(agents, name) ? agents[name] : {}))
    .reduce(
      (least, each) => ({ tokens: smaller(least.tokens, each.tokens), nano: smaller(least.nano, each.nano) }),
      ofRun,
    )
}

/** The limits that a run is started with, before anything is spent; they alone decide whether a call may be made at all. */
export function limitsOf({ tokens, cost, agents = {} }: BudgetLimits, agent: string | undefined): RemainingBudget {
  const limits = { ...(tokens !== undefined && { tokens }), ...(cost !== undefined && { cost: cost.limit }) }
  return remainingIn({ limits, agentLimits: agents as JsonObject, agents: {} }, agent)
}

function remainderOf(limits: { readonly tokens?: number; readonly cost?: string }, spent: Spent = {}): RemainingBudget {
  const { tokens = 0, reservedTokens = 0, cost = '0', reservedCost = '0' } = spent
  return {
    tokens: limits.tokens === undefined ? undefined : limits.tokens - tokens - reservedTokens,
    nano: limits.cost === undefined ? undefined : toNano(limits.cost) - toNano(cost) - toNano(reservedCost),
  }
}

function smaller<T extends number | bigint>(a: T | undefined, b: T | undefined): T | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return a < b ? a : b
}
