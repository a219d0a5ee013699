/** @module The runtime's internal form of a tool, with all defaults applied and argument types erased. */
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
  /** Former names of the tool. */
  readonly alias: readonly string[]
  readonly input: StandardSchema | undefined
  /** JSON Schema for a model, if the author wrote one. */
  readonly parameters: JsonObject | undefined
  /** Number of parameters of a wrapped function. */
  readonly arity: number
  /** `list`: a wrapped function, whose arguments are recorded as a list. */
  readonly takes: 'list' | 'value'
  readonly execute: (args: unknown, context: CallContext) => unknown
  /** Codecs for arguments and results. */
  readonly codecs: Codecs
  readonly compensate: CompensateSpec
  readonly compensationRetries: number
  readonly compensateUnknown: boolean
  /** Set if a failed call may have left something to undo. */
  readonly compensateFailed?: true
  /** A nested run: it is not cut off, and if it is halted, the enclosing run is halted as well. */
  readonly isRun?: true
  readonly check:
    | ((
        args: unknown,
        context: { readonly idempotencyKey: string },
      ) => CheckResult<unknown> | Promise<CheckResult<unknown>>)
    | undefined
  /** `none` if the tool changes nothing. */
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
  /** The approval rule, as sent in the claim. */
  readonly approve: Approve | undefined
  /** Whether the tool returns its result in parts. */
  readonly stream: boolean
  readonly record: 'digest' | undefined
  readonly onTooLarge: 'refuse' | 'roll-back'
  /** Default `forward`. A call of phase `model` returns an answer: there is nothing to undo, no evidence, and it is never in doubt. */
  readonly phase?: 'forward' | 'model'
  /** The form to record instead of the arguments, which still identify the call; default: the arguments. */
  readonly recordedAs?: (args: Json) => Json
  /** Kind of operation in a trace; default: the execution of a tool. */
  readonly operation?: ModelOperation
  /** The agent that the call is attributed to, if not that of the current step. */
  readonly agent?: string
  /** Calls inside this one use its own scope, with this kind of deduplication; default: a new scope of the call, by position. */
  readonly inside?: { readonly dedupe: 'args' | 'position'; readonly step?: StepFrame }
  /** Error classes that the caller catches as instances of the class. */
  readonly errors: readonly ErrorClass[]
  /** Set if the caller receives parts of the result before it is recorded. */
  readonly isEarly?: true
  /** Converts an error to its recorded form. */
  readonly failure: (error: unknown) => Failure
  /** Builds the caller's error from the recorded failure. Default: an instance of one of `errors`, or `RecordedFailure`. */
  readonly caught?: (failure: Failure, options?: ErrorOptions) => unknown
  /** Milliseconds before the next retry; undefined for none. */
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

/** A function that `cs.tool` created. */
export type AnyTool = (...args: never[]) => unknown

interface Notices {
  readonly onWait?: OnWait | undefined
  readonly onApproval?: OnApproval | undefined
  readonly onWaiting?: OnWaiting | undefined
  readonly divergesAfterMs?: number | undefined
}

/** The tools of one runtime, by name, and their shared settings. */
export class ToolRegistry {
  readonly codecs: Codecs
  /** Called when a call waits for another owner. */
  readonly onWait: OnWait
  /** Called when a call waits for an approval. */
  readonly onApproval: OnApproval | undefined
  /** Called when a run waits for a signal or a time. */
  readonly onWaiting: OnWaiting | undefined
  /** Milliseconds that a resume or a replay waits for a recorded request. */
  readonly divergesAfterMs: number | undefined
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

  /** The tools in order of creation, without those that undo another. */
  get tools(): AnyTool[] {
    const undoing = new Set([...this.#specs.values()].map(({ compensate }) => 'tool' in compensate && compensate.tool))
    return [...this.#tools].flatMap(([name, tool]) => (undoing.has(name) ? [] : [tool]))
  }

  /** Throws if a compensation names an unknown tool, before anything runs instead of when it is needed. */
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
