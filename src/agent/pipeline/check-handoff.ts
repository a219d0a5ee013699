/** @module Validation rules for the options of handoffs, rollbacks and steps, applied at the call (RUN-192). */
import {
  DECLARATIONS_MAX,
  HANDOFF_TEXT_MAX_CHARS,
  MANIFEST_KEYS_MAX,
  SUPERSESSIONS_MAX,
  TASK_MAX_CHARS,
  TOKENS_MAX,
} from '../../../schemas/value-forms.ts'
import { BACKOFF } from '../calls/check-tool.ts'
import {
  amount,
  aName,
  anObject,
  callable,
  chars,
  checkOptions,
  group,
  groups,
  names,
  type OptionRules,
  oneOf,
  timeout,
  tries,
  within,
} from '../option-rules.ts'
import { placePolicy } from './check-policy.ts'
import type { Declaration, HandoffOptions, Manifest, RollbackOptions, Supersession } from './handoff-types.ts'
import type { StepOptions } from './step-types.ts'

const words = chars(0, HANDOFF_TEXT_MAX_CHARS)
const tokens = within(0, TOKENS_MAX)

const SUPERSESSION: OptionRules<Supersession> = { path: words, reason: words }
/** Only sizes are checked here; other errors in a declaration are findings, which an agent can repair. */
const DECLARATION: OptionRules<Declaration> = { path: words, as: chars(0, 64), by: words, reason: words }

const supersedes = groups(SUPERSESSIONS_MAX, SUPERSESSION, ['path', 'reason'])
const moves = groups(DECLARATIONS_MAX, DECLARATION, ['path', 'as', 'reason'])

const MANIFEST: OptionRules<Manifest> = {
  agent: aName,
  reads: names(MANIFEST_KEYS_MAX),
  writes: names(MANIFEST_KEYS_MAX),
  maxTokens: tokens,
  task: chars(0, TASK_MAX_CHARS),
  schema: anObject,
  policy: placePolicy,
  moves,
}

/** Options that a handoff shares with a branch of a fork. */
export const BESIDE_PAYLOAD = { manifest: group(MANIFEST), supersedes, moves } as const

const mode = oneOf('replace', 'merge', 'extend')

const HANDOFF: OptionRules<HandoffOptions> = { ...BESIDE_PAYLOAD, agent: aName, mode, add: anObject, tokens }

const ROLLBACK: OptionRules<RollbackOptions> = { reason: chars(1, HANDOFF_TEXT_MAX_CHARS), toStep: amount }

const STEP: OptionRules<StepOptions> = {
  ...BESIDE_PAYLOAD,
  // Validated by `runStep`, as `invalid-step`.
  repairs: () => undefined,
  task: chars(0, TASK_MAX_CHARS),
  schema: anObject,
  slice: callable,
  sliceTokens: amount,
  mode,
  supersedes: (value) => (typeof value === 'function' ? undefined : supersedes(value)),
  input: callable,
  output: callable,
  retries: tries,
  backoff: group(BACKOFF, ['type', 'delayMs']),
  timeout,
}

/** Validates the options of `run.handoff`. Throws `invalid-option`. */
export function checkHandoff(options: unknown): void {
  checkOptions('run.handoff', options, HANDOFF, ['agent'])
}

/** Validates the options of a rollback of the context. Throws `invalid-option`. */
export function checkRollback(options: unknown): void {
  checkOptions('run.rollback', options, ROLLBACK)
}

/** Validates the agent and the options of `run.step`. Throws `invalid-option`. */
export function checkStep(agent: unknown, options: unknown): void {
  checkOptions('run.step', { agent }, { agent: aName }, ['agent'])
  checkOptions(`run.step(${String(agent)})`, options, STEP)
}
