/** @module Checks the limits of a budget, before a reservation is made and after usage is recorded. */
import { type ReservationState, type RunState, type Spend, safeKey, zeroSpend } from '../../projections/run-state.ts'
import { budgetRefusalText } from '../../schemas/budget-refusal.ts'
import type { EventBody } from '../../schemas/events.ts'
import { addMoney, fromNano, MONEY_MAX_NANO, toNano } from '../../schemas/money.ts'
import type { BudgetLimits, Usage } from '../../schemas/values.ts'
import { type Refusal, refusal } from './refusal.ts'

export type Exceeded = Omit<EventBody<'BudgetExceeded'>, 'v' | 'fingerprint' | 'claim'>

export interface LimitRequest {
  readonly agent: string
  readonly tokens: number
  readonly cost: string
}

/** The first limit of the run or its agent that `requested` would exceed. `ended` are reservations that this decision charges. */
export function findExceeded(
  state: RunState,
  requested: LimitRequest,
  ended: readonly ReservationState[],
): Exceeded | undefined {
  const { limits } = state
  const ofRun = { requested, scope: 'run', spend: spendAfter(state.spend, ended) } as const
  const own = agentLimits(limits, requested.agent)
  const ofAgent = {
    requested,
    scope: 'agent',
    spend: spendAfter(
      state.spendByAgent[safeKey(requested.agent)] ?? zeroSpend(),
      ended.filter((each) => each.agent === requested.agent),
    ),
  } as const
  return (
    tokensOver(limits.tokens, ofRun) ??
    costOver(limits.cost?.limit, ofRun) ??
    tokensOver(own?.tokens, ofAgent) ??
    costOver(own?.cost, ofAgent)
  )
}

/** Own members only: an agent named `constructor` must not inherit a member of `Object.prototype`. */
function agentLimits(limits: BudgetLimits, agent: string): NonNullable<BudgetLimits['agents']>[string] | undefined {
  return limits.agents !== undefined && Object.hasOwn(limits.agents, agent) ? limits.agents[agent] : undefined
}

/** An expired reservation is charged in full, so the sum of spent and reserved does not change. */
function spendAfter(before: Spend, ended: readonly ReservationState[]): Spend {
  const spend = { ...before }
  for (const { tokens, cost } of ended) {
    spend.tokens += tokens
    spend.reservedTokens -= tokens
    spend.cost = addMoney(spend.cost, cost)
    spend.reservedCost = addMoney(spend.reservedCost, `-${cost}`)
  }
  return spend
}

interface Measured {
  readonly requested: LimitRequest
  readonly scope: 'run' | 'agent'
  readonly spend: Spend
}

function tokensOver(limit: number | undefined, { requested, scope, spend }: Measured): Exceeded | undefined {
  const { agent, tokens } = requested
  if (limit === undefined || tokens === 0 || spend.tokens + spend.reservedTokens + tokens <= limit) return undefined
  return {
    agent,
    scope,
    dimension: 'tokens',
    limit: String(limit),
    spent: String(spend.tokens),
    reserved: String(spend.reservedTokens),
    requested: String(tokens),
  }
}

function costOver(limit: string | undefined, { requested, scope, spend }: Measured): Exceeded | undefined {
  const { agent, cost } = requested
  if (limit === undefined || toNano(cost) === 0n) return undefined
  const sum = toNano(spend.cost) + toNano(spend.reservedCost) + toNano(cost)
  if (sum <= toNano(limit)) return undefined
  return { agent, scope, dimension: 'cost', limit, spent: spend.cost, reserved: spend.reservedCost, requested: cost }
}

export function budgetExceeded(exceeded: Exceeded): Refusal {
  const { agent, scope, dimension, limit, spent, reserved, requested } = exceeded
  const evidence = { agent, scope, dimension, limit, spent, reserved, requested }
  return refusal('budget-exceeded', budgetRefusalText(evidence), { evidence })
}

/** The refusal of a second currency: a run has one, that of its budget or the first one that was reported. */
export function currencyFault(state: RunState, currency: string | undefined): Refusal | undefined {
  if (currency === undefined || state.currency === undefined || currency === state.currency) return undefined
  return refusal('currency-mismatch', `this run counts in ${state.currency}; convert before you report`, {
    pointer: '/currency',
    evidence: { expected: state.currency, actual: currency },
  })
}

/** The refusal of a sum of money that would exceed 18 digits (REC-17), with or without a budget. */
export function sumFault(
  state: RunState,
  request: { readonly agent: string; readonly cost: string },
): Refusal | undefined {
  const { cost, reservedCost } = state.spend
  if (toNano(cost) + toNano(reservedCost) + toNano(request.cost) <= MONEY_MAX_NANO) return undefined
  return budgetExceeded({
    agent: request.agent,
    scope: 'run',
    dimension: 'cost',
    limit: fromNano(MONEY_MAX_NANO),
    spent: cost,
    reserved: reservedCost,
    requested: request.cost,
  })
}

/** By how much the sums exceed the limits of the run or the agent once this usage counts; undefined if they are within all limits. */
export function overshootOf(
  state: RunState,
  used: { readonly agent: string; readonly usage: Usage },
  corrects: ReservationState | undefined,
): EventBody<'UsageRecorded'>['overshoot'] {
  const own = agentLimits(state.limits, used.agent)
  const ofRun = overBy(state.spend, { corrects, ...used, tokens: state.limits.tokens, cost: state.limits.cost?.limit })
  const spend = state.spendByAgent[safeKey(used.agent)] ?? zeroSpend()
  const ofAgent = overBy(spend, { corrects, ...used, tokens: own?.tokens, cost: own?.cost })
  const tokens = Math.max(ofRun.tokens, ofAgent.tokens)
  const [cost] = [ofRun.nano, ofAgent.nano].sort((a, b) => (a < b ? 1 : -1))
  return tokens === 0 && cost === 0n ? undefined : { tokens, cost: fromNano(cost ?? 0n) }
}

interface Counted {
  readonly usage: Usage
  /** An expired reservation, charged already, that this usage replaces. */
  readonly corrects: ReservationState | undefined
  readonly tokens: number | undefined
  readonly cost: string | undefined
}

function overBy(spend: Spend, { usage, corrects, tokens: limit, cost: costLimit }: Counted) {
  const tokens = spend.tokens - (corrects?.tokens ?? 0) + usage.tokens
  const nano = toNano(spend.cost) - toNano(corrects?.cost ?? '0') + toNano(usage.cost ?? '0')
  const over = costLimit === undefined ? 0n : nano - toNano(costLimit)
  return { tokens: limit === undefined ? 0 : Math.max(0, tokens - limit), nano: over > 0n ? over : 0n }
}
