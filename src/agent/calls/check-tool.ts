/** @module The options of a tool, judged where it is made. */
import { parseExpression } from '../../../schemas/expression.ts'
import { AgentError } from '../errors.ts'
import {
  amount,
  anObject,
  anything,
  callable,
  checkOptions,
  either,
  flag,
  group,
  milliseconds,
  type OptionRules,
  oneOf,
  text,
  texts,
  tries,
} from '../option-rules.ts'
import type { Backoff } from './backoff.ts'
import type { ApproveOptions, CompensateOptions, ToolOptions, ToolReserve } from './tool-options.ts'

const UNKNOWN = oneOf('retry', 'in-doubt')

const BACKOFF: OptionRules<Backoff> = {
  type: oneOf('fixed', 'exponential'),
  delayMs: milliseconds,
  maxMs: milliseconds,
  jitter: flag,
}

const COMPENSATE: OptionRules<CompensateOptions<unknown, unknown>> = {
  run: callable,
  onUnknown: UNKNOWN,
  check: callable,
}

const RESERVE: OptionRules<ToolReserve> = { tokens: amount, cost: text, agent: text, deadlineMs: milliseconds }

const APPROVE: OptionRules<ApproveOptions> = {
  when: conditionFault,
  reason: text,
  quorum: amount,
  roles: texts,
  expiresMs: amount,
  selfApproval: flag,
  onDenied: oneOf('error', 'rollback'),
}

const TOOL: OptionRules<ToolOptions> = {
  name: anything,
  description: either('a text', text, (value) => (value === '' ? undefined : 'a text')),
  parameters: anObject,
  // What a class may be is judged where its name is taken.
  errors: anything,
  alias: texts,
  compensate: (value) =>
    typeof value === 'object' && value !== null
      ? group(COMPENSATE)(value)
      : either('a function, { run }, the name of a tool, or "not-needed"', callable, text)(value),
  compensationRetries: tries,
  compensateUnknown: flag,
  check: callable,
  retries: tries,
  backoff: group(BACKOFF),
  retryScope: oneOf('tool', 'transaction'),
  onFailure: oneOf('roll-back', 'continue'),
  effects: oneOf('none'),
  timeout: milliseconds,
  onUnknown: UNKNOWN,
  dedupe: oneOf('args', 'position'),
  key: callable,
  leaseMs: milliseconds,
  reserve: (value) => (typeof value === 'function' ? undefined : group(RESERVE)(value)),
  usage: callable,
  approve: (value) => (typeof value === 'boolean' ? undefined : group(APPROVE)(value)),
  stream: flag,
  record: oneOf('digest'),
  onTooLarge: oneOf('refuse', 'roll-back'),
  unreachable: oneOf('stop', 'run'),
}

const DEFINITION = { ...TOOL, input: anything, execute: callable }

/** Throws `invalid-option`. */
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
