/** @module Validation rules for the options of a tool, applied when it is created. */
import { parseExpression } from '../../../schemas/expression.ts'
import {
  APPROVAL_EXPIRES_MAX_MS,
  APPROVAL_EXPIRES_MIN_MS,
  APPROVAL_REASON_MAX_CHARS,
  APPROVAL_ROLES_MAX,
  LEASE_MAX_MS,
  LEASE_MIN_MS,
  QUORUM_MAX,
  RESERVATION_DEADLINE_MAX_MS,
  TOKENS_MAX,
} from '../../../schemas/value-forms.ts'
import { AgentError } from '../errors.ts'
import {
  aList,
  aName,
  anObject,
  callable,
  checkOptions,
  either,
  flag,
  group,
  milliseconds,
  money,
  names,
  type OptionRules,
  oneOf,
  text,
  timeout,
  tries,
  within,
} from '../option-rules.ts'
import type { Backoff } from './backoff.ts'
import type { ApproveOptions, CompensateOptions, ToolOptions, ToolReserve } from './tool-options.ts'

const UNKNOWN = oneOf('retry', 'in-doubt')

export const BACKOFF: OptionRules<Backoff> = {
  type: oneOf('fixed', 'exponential'),
  delayMs: milliseconds,
  maxMs: milliseconds,
  jitter: flag,
}

export const LEASE = within(LEASE_MIN_MS, LEASE_MAX_MS, 'milliseconds')

const COMPENSATE: OptionRules<CompensateOptions<unknown, unknown>> = {
  run: callable,
  onUnknown: UNKNOWN,
  check: callable,
}

const RESERVE: OptionRules<ToolReserve> = {
  tokens: within(0, TOKENS_MAX),
  cost: money,
  agent: aName,
  deadlineMs: within(1, RESERVATION_DEADLINE_MAX_MS, 'milliseconds'),
}

export const APPROVE: OptionRules<ApproveOptions> = {
  when: conditionFault,
  reason: reasonFault,
  quorum: within(1, QUORUM_MAX),
  roles: (value) =>
    Array.isArray(value) && value.length === 0 ? 'one role at least' : names(APPROVAL_ROLES_MAX)(value),
  expiresMs: within(APPROVAL_EXPIRES_MIN_MS, APPROVAL_EXPIRES_MAX_MS, 'milliseconds'),
  selfApproval: flag,
  onDenied: oneOf('error', 'rollback'),
}

const TOOL: OptionRules<ToolOptions> = {
  // An empty name counts as missing: `tool-unnamed`.
  name: (value) => (value === '' ? undefined : aName(value)),
  description: either('a text', text, (value) => (value === '' ? undefined : 'a text')),
  parameters: anObject,
  // The classes are validated by `knownErrors`.
  errors: aList,
  alias: names(Number.POSITIVE_INFINITY),
  compensate: (value) =>
    typeof value === 'object' && value !== null
      ? group(COMPENSATE, ['run'])(value)
      : either('a function, { run }, the name of a tool, or "not-needed"', callable, aName)(value),
  compensationRetries: tries,
  compensateUnknown: flag,
  check: callable,
  retries: tries,
  backoff: group(BACKOFF, ['type', 'delayMs']),
  retryScope: oneOf('tool', 'transaction'),
  onFailure: oneOf('roll-back', 'continue'),
  effects: oneOf('none'),
  timeout,
  onUnknown: UNKNOWN,
  dedupe: oneOf('args', 'position'),
  key: callable,
  leaseMs: LEASE,
  reserve: (value) => (typeof value === 'function' ? undefined : group(RESERVE)(value)),
  usage: callable,
  approve: (value) => (typeof value === 'boolean' ? undefined : group(APPROVE)(value)),
  stream: flag,
  record: oneOf('digest'),
  onTooLarge: oneOf('refuse', 'roll-back'),
  unreachable: oneOf('stop', 'run'),
}

const SCHEMA = 'a Standard Schema (zod, valibot, arktype); a JSON Schema is `parameters`'

const DEFINITION = { ...TOOL, input: schemaFault, execute: callable }

function schemaFault(input: unknown): string | undefined {
  if ((typeof input !== 'object' && typeof input !== 'function') || input === null) return SCHEMA
  const standard: unknown = Reflect.get(input, '~standard')
  const isOne =
    typeof standard === 'object' && standard !== null && typeof Reflect.get(standard, 'validate') === 'function'
  return isOne ? undefined : SCHEMA
}

function reasonFault(reason: unknown): string | undefined {
  return typeof reason === 'string' && reason !== '' && reason.length <= APPROVAL_REASON_MAX_CHARS
    ? undefined
    : `a text of 1 to ${APPROVAL_REASON_MAX_CHARS} characters`
}

/** Validates the return value of a tool's `reserve` function like a literal. Throws `invalid-option`. */
export function checkReserve(tool: string, given: object): void {
  checkOptions(`reserve of ${tool}`, given, RESERVE)
}

/** Validates the options or the definition of a tool. Throws `invalid-option`. */
export function checkTool(name: string, options: object, isDefinition: boolean): void {
  const of = `cs.tool(${name})`
  checkOptions(of, options, isDefinition ? DEFINITION : TOOL)
  const { effects, compensate = 'not-needed' } = options as ToolOptions
  if (effects === undefined || compensate === 'not-needed') return
  const message = `${of}: effects: 'none' says that there is nothing to undo: leave it out, or leave compensate out`
  throw new AgentError('invalid-option', message, { option: 'effects' })
}

function conditionFault(when: unknown): string | undefined {
  if (typeof when !== 'string') return 'a condition over args, such as "args.cents > 100000"'
  const parsed = parseExpression(when, ['args'])
  return parsed.ok ? undefined : `a condition over args, such as "args.cents > 100000" (${parsed.message})`
}
