/** @module What a run is started with. */
import type { StartRun } from '../../../schemas/requests.ts'
import type { Codecs } from '../calls/codecs.ts'
import { isMinified } from '../calls/minified-name.ts'
import { CALL_VALUE, identifying } from '../calls/recordable.ts'
import { AgentError } from '../errors.ts'
import type { Judge } from '../pipeline/judge.ts'
import { notRecordable } from '../too-large.ts'

/** `'2.00 USD'`. */
export type Cost = `${number} ${string}`

/** Limits of a run, in tokens and money; what would be reserved beyond them is refused (`budget-exceeded`) before it runs. */
export interface BudgetOptions {
  readonly tokens?: number
  readonly cost?: Cost
  /** Limits of single agents; their costs are in the run's currency. */
  readonly agents?: Readonly<Record<string, { readonly tokens?: number; readonly cost?: Cost }>>
  /**
   * Tokens that a handoff reports were spent before it: beyond a limit they are recorded as overshoot. With `hard: true` such a handoff is refused
   * (`budget-exceeded`), as by `policy: { overshoot: 'refuse' }`.
   */
  readonly hard?: boolean
}

/**
 * What a run is started with. Throws `not-recordable`, `invalid-budget`, `run-unnamed`.
 * @example
 * ```ts
 * import { open } from 'countersign/agent'
 *
 * await using cs = await open({ path: ':memory:' })
 * await cs.run({ id: 'order-7', name: 'order', tags: ['shop'], budget: { tokens: 10_000, cost: '2.00 USD' } }, async () => 'done')
 * ```
 */
export interface RunOptions<Input = unknown> {
  /** Starts the run of this id, or resumes it: a second start of a run that has ended gets its recorded end. */
  readonly id?: string
  /** Default: the name of the function, or `run`. */
  readonly name?: string
  readonly input?: Input
  readonly tags?: readonly string[]
  readonly budget?: BudgetOptions
  readonly policy?: NonNullable<StartRun['policy']>
  /** Judges accepted handoffs while the run goes on: its verdicts are on record, and may refuse the next handoff (`policy.judge`). */
  readonly judge?: Judge
  /**
   * Inside the function of another run: a run for itself, which is neither resumed nor undone with the one around it. Default false: it is a part of that
   * one, with an id of its own (that of its call) where `id` names none.
   */
  readonly detached?: boolean
  /** Roll back where the budget is exceeded; default true. */
  readonly compensateOnBudgetExceeded?: boolean
  readonly signal?: AbortSignal
  /**
   * What a second start does while the run goes on. `join` (the default): in this runtime it gets what the first one gets, and its own function is not called; of
   * another owner it waits for each lease. `wait`: takes the run up from the first one, and waits for each lease. `refuse`: `run-owned`. `take-over`: leases end
   * now, and what their owner may be carrying out is in doubt. Where the death of an owner is proved its leases end now in any case.
   */
  readonly whenOwned?: 'join' | 'wait' | 'refuse' | 'take-over'
  /** W3C Trace Context that the run is part of, such as a request's header `traceparent`; another text is treated as absent. Default: the active span's. */
  readonly traceparent?: string
  /** What a call does that waits for an approval: it waits in this process (the default), or leaves the run as it is, open, with `RunWaiting`. */
  readonly whenWaiting?: 'wait' | 'leave'
}

const COST = /^(\S+) ([A-Z]{3})$/

/** The request that starts the run. Throws `not-recordable` and `invalid-budget`. */
export function startRequest(options: RunOptions, fallbackName: string, codecs?: Codecs): StartRun {
  const { id, name = fallbackName, input, tags, budget, policy, whenOwned = 'join' } = options
  const recorded = input === undefined ? undefined : identifying(input, codecs, CALL_VALUE)
  if (recorded?.ok === false) throw notRecordable('the input of the run', recorded)
  if (options.name === undefined && isMinified(fallbackName)) {
    const message = `${fallbackName} looks like a name that a minifier made, and would be another one in the next build: pass {name}`
    throw new AgentError('run-unnamed', message, { name: fallbackName })
  }
  return {
    name: name === '' ? 'run' : name,
    ...(id !== undefined && { id }),
    ...(recorded !== undefined && { input: recorded.value }),
    ...(tags !== undefined && { tags: [...tags] }),
    ...(budget !== undefined && { budget: limitsOf(budget) }),
    ...policyOf(policy, budget),
    ...(whenOwned !== 'join' && { whenOwned }),
  }
}

function policyOf(policy: RunOptions['policy'], budget: BudgetOptions | undefined): Pick<StartRun, 'policy'> {
  if (budget?.hard !== true) return policy === undefined ? {} : { policy }
  const declared = typeof policy === 'string' ? { base: policy } : policy
  return { policy: { ...declared, overshoot: 'refuse' } }
}

function limitsOf({ tokens, cost, agents }: BudgetOptions): NonNullable<StartRun['budget']> {
  const limits = Object.entries(agents ?? {}).map(([agent, limit]) => [
    agent,
    {
      ...(limit.tokens !== undefined && { tokens: limit.tokens }),
      ...(limit.cost !== undefined && { cost: costOf(limit.cost).limit }),
    },
  ])
  return {
    ...(tokens !== undefined && { tokens }),
    ...(cost !== undefined && { cost: costOf(cost) }),
    ...(agents !== undefined && { agents: Object.fromEntries(limits) }),
  }
}

/** Throws `invalid-budget`. */
export function costOf(cost: string): { readonly limit: string; readonly currency: string } {
  const [, limit, currency] = COST.exec(cost) ?? []
  if (limit !== undefined && currency !== undefined) return { limit, currency }
  throw new AgentError('invalid-budget', `a cost is an amount and a currency, such as "2.00 USD", not ${cost}`)
}
