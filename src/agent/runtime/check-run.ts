/** @module Validation rules for the options of a run, applied when it is started. */

import { NAME_MAX_CHARS, TAGS_MAX } from '../../../schemas/value-forms.ts'
import { LEASE } from '../calls/check-tool.ts'
import type { ToolOptions } from '../calls/tool-options.ts'
import { AgentError } from '../errors.ts'
import {
  amount,
  aName,
  anObject,
  anything,
  aSignal,
  callable,
  chars,
  checkOptions,
  either,
  flag,
  group,
  names,
  type OptionRules,
  oneOf,
  type Rule,
  text,
} from '../option-rules.ts'
import type { BudgetOptions, RunOptions, StartOptions } from './run-options.ts'

type AgentLimit = NonNullable<BudgetOptions['agents']>[string]

const LIMIT: OptionRules<AgentLimit> = { tokens: amount, cost: text }

const BUDGET: OptionRules<BudgetOptions> = { ...LIMIT, agents: limitsFault, hard: flag }

function limitsFault(agents: unknown): ReturnType<Rule> {
  if (typeof agents !== 'object' || agents === null) return 'an object with a limit for each agent'
  return Object.values(agents)
    .map(group(LIMIT))
    .find((fault) => fault !== undefined)
}

const RUN: OptionRules<RunOptions> = {
  id: text,
  name: either(`a text of at most ${NAME_MAX_CHARS} characters`, aName, (value) =>
    value === '' ? undefined : 'a text',
  ),
  input: anything,
  tags: names(TAGS_MAX),
  budget: group(BUDGET),
  policy: either('"default", "relay", or an object with the members of a policy', oneOf('default', 'relay'), anObject),
  judge: anything,
  detached: flag,
  compensateOnBudgetExceeded: flag,
  signal: aSignal,
  whenOwned: oneOf('join', 'wait', 'refuse', 'take-over'),
  traceparent: anything,
  whenWaiting: oneOf('wait', 'leave'),
}

/** Validates the options of `cs.run`, `cs.saga` or `cs.branch`. Throws `invalid-option`. */
export function checkRun(method: 'run' | 'saga' | 'branch', options: object): void {
  const rules = method === 'branch' ? { ...RUN, atStep: amount } : RUN
  checkOptions(`cs.${method}`, options, rules)
}

/** Validates the function that is the code of a run. Throws `invalid-option`. */
export function checkBody(method: 'run' | 'replay' | 'branch', body: unknown): void {
  checkOptions(`cs.${method}`, { body }, { body: callable }, ['body'])
}

/** Options come before the function, unlike those of `cs.tool`. Throws `invalid-option`. */
export function checkNothingFollows(more: unknown): void {
  if (more === undefined) return
  throw new AgentError('invalid-option', 'cs.run: options come before the function: cs.run(options, fn)')
}

const START: OptionRules<StartOptions> = {
  id: RUN.id,
  tags: RUN.tags,
  budget: RUN.budget,
  policy: RUN.policy,
  after: anything,
}

/** Validates the options of a run that is left to workers. Throws `invalid-option`. */
export function checkStart(options: object): void {
  checkOptions('cs.start', options, START)
}

const VALUE: OptionRules<Pick<ToolOptions, 'leaseMs' | 'effects'>> = { leaseMs: LEASE, effects: oneOf('none') }
const SAGA: OptionRules<{ readonly name: string }> = { name: aName }

/** Validates the function and the options of `run.once`. Throws `invalid-option`. */
export function checkOnce(fn: unknown, options: unknown): void {
  checkOptions('run.once', { fn }, { fn: callable }, ['fn'])
  checkValue('once', options)
}

/** Validates the options of `run.once`, `run.now` and `run.uuid`. Throws `invalid-option`. */
export function checkValue(method: string, options: unknown = {}): void {
  checkOptions(`run.${method}`, options, VALUE)
}

/** Validates the name of a value, a patch or a scope; `most` is its maximum length in characters. Throws `invalid-option`. */
export function checkName(method: string, name: unknown, most: number): void {
  checkOptions(`run.${method}`, { name }, { name: chars(1, most) }, ['name'])
}

/** Validates the options of `run.saga`. Throws `invalid-option`. */
export function checkSagaOptions(options: unknown): void {
  checkOptions('run.saga', options, SAGA)
}
