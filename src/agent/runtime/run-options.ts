/** @module The options that a run is started with, and the start request made from them. */
import type { StartRun } from '../../../schemas/requests.ts'
import type { Codecs } from '../calls/codecs.ts'
import { isMinified } from '../calls/minified-name.ts'
import { CALL_VALUE, identifying } from '../calls/recordable.ts'
import { AgentError } from '../errors.ts'
import type { Judge } from '../pipeline/judge.ts'
import { notRecordable } from '../too-large.ts'

/** An amount and an ISO 4217 currency, such as `'2.00 USD'`. */
export type Cost = `${number} ${string}`

/** Limits of a run in tokens and money. A reservation beyond them is refused (`budget-exceeded`) before anything runs. */
export interface BudgetOptions {
  readonly tokens?: number
  readonly cost?: Cost
  /** Limits per agent; costs are in the run's currency. */
  readonly agents?: Readonly<Record<string, { readonly tokens?: number; readonly cost?: Cost }>>
  /**
   * For tokens that a handoff reports as already spent: by default, spending beyond a limit is recorded as overshoot. With `hard: true` such a handoff is
   * refused (`budget-exceeded`), as with `policy: { overshoot: 'refuse' }`.
   */
  readonly hard?: boolean
}

/**
 * The options of a run. Throws `not-recordable`, `invalid-budget`, `run-unnamed`.
 * @example
 * ```ts
 * import { open } from 'countersign/agent'
 *
 * await using cs = await open({ path: ':memory:' })
 * await cs.run({ id: 'order-7', name: 'order', tags: ['shop'], budget: { tokens: 10_000, cost: '2.00 USD' } }, async () => 'done')
 * ```
 */
export interface RunOptions<Input = unknown> {
  /** Starts the run with this id, or resumes it. If the run has ended, a start returns its recorded result. */
  readonly id?: string
  /** Default: the name of the function, or `run`. */
  readonly name?: string
  readonly input?: Input
  readonly tags?: readonly string[]
  readonly budget?: BudgetOptions
  readonly policy?: NonNullable<StartRun['policy']>
  /** Judges accepted handoffs while the run continues. Its verdicts are recorded and may refuse the next handoff (`policy.judge`). */
  readonly judge?: Judge
  /**
   * Inside the function of another run: starts an independent run, which is neither resumed nor undone with the enclosing one. Default false: the run is part
   * of the enclosing one; its id is that of its call unless `id` is given.
   */
  readonly detached?: boolean
  /** Roll the run back if its budget is exceeded; default true. */
  readonly compensateOnBudgetExceeded?: boolean
  readonly signal?: AbortSignal
  /**
   * Behaviour of a second start while the run is active. `join` (the default): in the same runtime it gets the result of the first start and its own function
   * is not called; if another process owns the run, it waits for each lease. `wait`: takes the run over from the first start and waits for each lease.
   * `refuse`: throws `run-owned`. `take-over`: ends the leases now; calls that their owner may be executing are in doubt. If the owner is proved dead, its
   * leases end at once in any case.
   */
  readonly whenOwned?: 'join' | 'wait' | 'refuse' | 'take-over'
  /** W3C Trace Context that the run is part of, such as the `traceparent` header of a request; an invalid value is ignored. Default: the active span. */
  readonly traceparent?: string
  /** What a pending approval or wait does: it waits in this process (the default) until `close()`, or throws `RunWaiting` and leaves the run open. */
  readonly whenWaiting?: 'wait' | 'leave'
}

/** Options of a run that a worker carries on. */
export interface StartOptions extends Pick<RunOptions, 'id' | 'tags' | 'budget' | 'policy'> {
  /** The run is started once, however often it is requested with this id, name and input. Default: a new id. */
  readonly id?: string
  /** The time before which no worker takes the run, or milliseconds from now. Default: at once. */
  readonly after?: Date | number
}

const COST = /^(\S+) ([A-Z]{3})$/

/** Builds the request that starts the run. Throws `not-recordable` and `invalid-budget`. */
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

/** Parses an amount and a currency. Throws `invalid-budget`. */
export function costOf(cost: string): { readonly limit: string; readonly currency: string } {
  const [, limit, currency] = COST.exec(cost) ?? []
  if (limit !== undefined && currency !== undefined) return { limit, currency }
  throw new AgentError('invalid-budget', `a cost is an amount and a currency, such as "2.00 USD", not ${cost}`)
}
