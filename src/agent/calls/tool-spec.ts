/** @module A tool inside the runtime: every option settled, types options. */
import type { Approve } from '../../../schemas/approval.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import type { Failure } from '../../../schemas/values.ts'
import { AgentError } from '../errors.ts'
import type { StepFrame } from '../runtime/step-frame.ts'
import type { ModelOperation } from '../tracing/trace-span.ts'
import type { OnWaiting } from '../waits/wait-notice.ts'
import type { OnApproval } from './approval-notice.ts'
import { BACKOFF_DEFAULT, type Backoff, backoffMs } from './backoff.ts'
import { type ErrorClass, failureWithFields, knownErrors } from './caught-error.ts'
import { Codecs } from './codecs.ts'
import { type OnWait, warnOfWait } from './owner-wait.ts'
import { type Spending, toolSpending } from './spending.ts'
import type { StandardSchema } from './standard-schema.ts'
import type { CallContext, CheckResult, CompensateOptions, ToolOptions, Undo } from './tool-options.ts'

export interface ToolSpec extends Spending {
  readonly name: string
  readonly description: string | undefined
  /** Names of before. */
  readonly alias: readonly string[]
  readonly input: StandardSchema | undefined
  /** The description for a model, where the author wrote one. */
  readonly parameters: JsonObject | undefined
  /** Arguments that a wrapped function names. */
  readonly arity: number
  /** `list`: a wrapped function, whose arguments are recorded as a list. */
  readonly takes: 'list' | 'value'
  readonly execute: (args: unknown, context: CallContext) => unknown
  /** What its arguments and its results are recorded with. */
  readonly codecs: Codecs
  readonly compensate: CompensateSpec
  readonly compensationRetries: number
  readonly compensateUnknown: boolean
  /** It may have left something to undo where it failed, too. */
  readonly compensateFailed?: true
  /** A run within the run: it is not cut off, and where it goes no further, neither does this one. */
  readonly isRun?: true
  readonly check:
    | ((
        args: unknown,
        context: { readonly idempotencyKey: string },
      ) => CheckResult<unknown> | Promise<CheckResult<unknown>>)
    | undefined
  /** It changes nothing. */
  readonly effects: 'none' | undefined
  readonly retries: number
  readonly backoff: Backoff
  readonly retryScope: 'tool' | 'transaction'
  readonly onFailure: 'roll-back' | 'continue'
  readonly timeoutMs: number | undefined
  readonly onUnknown: 'retry' | 'in-doubt'
  readonly dedupe: 'args' | 'position' | undefined
  readonly key: ((args: unknown) => string) | undefined
  readonly leaseMs: number | undefined
  readonly unreachable: 'stop' | 'run'
  /** As the claim says it. */
  readonly approve: Approve | undefined
  /** It gives its result in parts. */
  readonly stream: boolean
  readonly record: 'digest' | undefined
  readonly onTooLarge: 'refuse' | 'roll-back'
  /** Default `forward`. A call of phase `model` gives an answer: nothing to undo, no evidence, and never in doubt. */
  readonly phase?: 'forward' | 'model'
  /** What is recorded in place of the arguments, which identify the call all the same; default: they themselves. */
  readonly recordedAs?: (args: Json) => Json
  /** What it is to a tracer; default: the execution of a tool. */
  readonly operation?: ModelOperation
  /** Whose call it is, where its place does not say. */
  readonly agent?: string
  /** Calls made inside it stand in its own scope, which distinguishes them; default: in a scope of the call, by position. */
  readonly inside?: { readonly dedupe: 'args' | 'position'; readonly step?: StepFrame }
  /** Classes of errors that its caller catches as themselves. */
  readonly errors: readonly ErrorClass[]
  /** Its caller has parts of what comes of it before that is recorded. */
  readonly isEarly?: true
  /** What the record keeps of an error. */
  readonly failure: (error: unknown) => Failure
  /** What its caller catches: made of what the record keeps. Default: one of `errors`, or `RecordedFailure`. */
  readonly caught?: (failure: Failure, options?: ErrorOptions) => unknown
  /** Milliseconds before the next try; undefined: there is none. */
  readonly retryWaitMs: (error: unknown, failures: number) => number | undefined
}

type CompensateSpec =
  | { readonly kind: 'none' }
  | { readonly kind: 'not-needed' }
  | {
      readonly kind: 'inline'
      readonly tool: string
      readonly undo: (undo: Undo<unknown, unknown>, context: CallContext) => unknown
      readonly onUnknown?: 'retry' | 'in-doubt'
      readonly check?: CompensateOptions<unknown, unknown>['check']
    }
  | { readonly kind: 'named'; readonly tool: string }

const COMPENSATION_RETRIES = 3
const PURE_RETRIES = 2

type ToolBody = Pick<ToolSpec, 'name' | 'input' | 'takes' | 'execute'> & Partial<Pick<ToolSpec, 'codecs' | 'arity'>>

const NO_CODECS = new Codecs()

export function toolSpec(body: ToolBody, options: ToolOptions): ToolSpec {
  if (body.name === '') {
    throw new AgentError('tool-unnamed', 'a tool needs a name: pass {name}, or wrap a named function')
  }
  const { codecs = NO_CODECS } = body
  const errors = knownErrors(body.name, options.errors)
  const backoff = options.backoff ?? BACKOFF_DEFAULT
  const isPure = options.effects === 'none'
  return {
    arity: 1,
    ...body,
    codecs,
    parameters: options.parameters,
    description: options.description,
    alias: options.alias ?? [],
    compensate: compensateSpec(body.name, options.compensate ?? (isPure ? 'not-needed' : undefined)),
    compensationRetries: options.compensationRetries ?? COMPENSATION_RETRIES,
    compensateUnknown: options.compensateUnknown ?? false,
    check: options.check,
    effects: options.effects,
    retries: options.retries ?? (isPure ? PURE_RETRIES : 0),
    backoff,
    retryScope: options.retryScope ?? 'tool',
    onFailure: options.onFailure ?? 'roll-back',
    timeoutMs: options.timeout,
    onUnknown: options.onUnknown ?? (isPure ? 'retry' : 'in-doubt'),
    dedupe: options.dedupe,
    key: options.key,
    leaseMs: options.leaseMs,
    unreachable: options.unreachable ?? 'stop',
    approve: approveRule(options.approve),
    record: options.record,
    stream: options.stream ?? false,
    onTooLarge: options.onTooLarge ?? 'refuse',
    ...toolSpending(body.name, options),
    errors,
    failure: (error) => failureWithFields(error, { classes: errors, codecs }),
    retryWaitMs: (_, failures) => backoffMs(backoff, failures, Math.random()),
  }
}

function approveRule(approve: ToolOptions['approve']): Approve | undefined {
  if (approve === undefined || approve === false) return undefined
  if (approve === true) return {}
  const { roles, ...rest } = approve
  return { ...rest, ...(roles !== undefined && { roles: [...roles] }) }
}

function compensateSpec(name: string, compensate: ToolOptions['compensate']): CompensateSpec {
  if (compensate === undefined) return { kind: 'none' }
  if (typeof compensate === 'function') return { kind: 'inline', tool: `${name}.compensate`, undo: compensate }
  if (typeof compensate === 'object') {
    const { run, onUnknown, check } = compensate
    const recovery = { ...(onUnknown !== undefined && { onUnknown }), ...(check !== undefined && { check }) }
    return { kind: 'inline', tool: `${name}.compensate`, undo: run, ...recovery }
  }
  return compensate === 'not-needed' ? { kind: 'not-needed' } : { kind: 'named', tool: compensate }
}

/** A function that `cs.tool` made. */
export type AnyTool = (...args: never[]) => unknown

interface Notices {
  readonly onWait?: OnWait | undefined
  readonly onApproval?: OnApproval | undefined
  readonly onWaiting?: OnWaiting | undefined
  readonly divergesAfterMs?: number | undefined
}

/** Tools of one runtime, by name, and what all of them share. */
export class ToolRegistry {
  readonly codecs: Codecs
  /** Called where a call waits for another owner. */
  readonly onWait: OnWait
  /** Called where a call waits for an approval. */
  readonly onApproval: OnApproval | undefined
  /** Called where a run waits for a signal or a time. */
  readonly onWaiting: OnWaiting | undefined
  /** How long a resume or a replay waits for a request that the record holds. */
  readonly divergesAfterMs: number | undefined
  /** Tools whose second equal call was warned of. */
  readonly warnedOfSame = new Set<string>()
  readonly #specs = new Map<string, ToolSpec>()
  readonly #aliases = new Map<string, ToolSpec>()
  readonly #tools = new Map<string, AnyTool>()

  constructor(codecs = NO_CODECS, { onWait = warnOfWait, onApproval, onWaiting, divergesAfterMs }: Notices = {}) {
    this.codecs = codecs
    this.onWait = onWait
    this.onApproval = onApproval
    this.onWaiting = onWaiting
    this.divergesAfterMs = divergesAfterMs
  }

  add(spec: ToolSpec, tool?: AnyTool): void {
    if (this.#specs.has(spec.name)) {
      throw new AgentError('tool-registered-twice', `a tool named ${spec.name} is registered already`, {
        tool: spec.name,
      })
    }
    this.#specs.set(spec.name, spec)
    if (tool !== undefined) this.#tools.set(spec.name, tool)
    for (const name of spec.alias) this.#aliases.set(name, spec)
  }

  get(name: string): ToolSpec | undefined {
    return this.#specs.get(name) ?? this.#aliases.get(name)
  }

  /** As they were made, without those that undo another. */
  get tools(): AnyTool[] {
    const undoing = new Set([...this.#specs.values()].map(({ compensate }) => 'tool' in compensate && compensate.tool))
    return [...this.#tools].flatMap(([name, tool]) => (undoing.has(name) ? [] : [tool]))
  }

  /** Throws where a compensation names no tool: before anything runs, not when it is needed. */
  mustBeWhole(): void {
    for (const { name, compensate } of this.#specs.values()) {
      if (compensate.kind !== 'named' || this.#specs.has(compensate.tool)) continue
      const details = { tool: name, compensate: compensate.tool }
      throw new AgentError(
        'unknown-compensation',
        `${name} is to be undone by ${compensate.tool}, which is no tool`,
        details,
      )
    }
  }
}
