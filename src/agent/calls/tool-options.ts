/** @module The options of a tool: how it is undone, checked, retried, timed and identified. */

import type { JsonObject } from '../../../schemas/json.ts'
import type { Cost } from '../runtime/run-options.ts'
import type { Backoff } from './backoff.ts'
import type { ErrorClass } from './caught-error.ts'
import type { Recorded } from './recorded-type.ts'
import type { StandardSchema } from './standard-schema.ts'

/** The context that a tool receives about the call it executes. */
export interface CallContext {
  /** Stable over retries and resume, new for each generation of the call; intended to be passed to a provider. */
  readonly idempotencyKey: string
  /** Aborted when the timeout expires or the run is aborted. */
  readonly signal: AbortSignal
  /** Number of the attempt, from 1. */
  readonly attempt: number
  readonly callId: string
  /** W3C Trace Context of the call, if it is traced; intended to be passed on as the `traceparent` header. */
  readonly traceparent?: string
}

/** The recorded call to undo. */
export interface Undo<Args, Result> {
  readonly args: Args
  readonly result: Result
}

/** The finding of `check` about a call in doubt: done with this result, not done, or undefined if it cannot tell. */
export type CheckResult<Result> =
  | { readonly done: true; readonly result: Result }
  | { readonly done: false }
  | undefined

/** A compensation with its own check, and with the behaviour for an unknown outcome. */
export interface CompensateOptions<Args, Result> {
  /** Undoes the call, given its arguments and its result. */
  readonly run: (undo: Undo<Args, Result>, context: CallContext) => unknown
  /**
   * Behaviour if the outcome of the compensation is unknown: run it again (`retry`, if it is safe to repeat) or leave it to a person. Default: as for the tool.
   */
  readonly onUnknown?: 'retry' | 'in-doubt'
  /** Called first to find out whether the call was undone; undefined if it cannot tell. `idempotencyKey` is the one that `run` received. */
  readonly check?: (
    undo: Undo<Args, Result>,
    context: { readonly idempotencyKey: string },
  ) => CheckResult<unknown> | Promise<CheckResult<unknown>>
}

/** Reserved from the run's budget before each attempt, so that no other call can spend it meanwhile. */
export interface ToolReserve {
  readonly tokens?: number
  readonly cost?: Cost
  /** The agent whose budget is charged; default: the writer's. */
  readonly agent?: string
  /** Milliseconds after which the reservation counts as spent if there is no outcome; default 10 minutes. */
  readonly deadlineMs?: number
}

/** When a call needs an approval before it runs, and what the approval requires. */
export interface ApproveOptions {
  /**
   * A condition on the recorded arguments, in the expression language of policy invariants: `args.amount > 1000`; for a wrapped function they are a list:
   * `args[0] > 1000`. If the condition cannot be evaluated, the approval is required. Default: every call.
   */
  readonly when?: string
  /** Shown to the approver. */
  readonly reason?: string
  /** Number of different approvers; default 1. */
  readonly quorum?: number
  /** Only tokens with one of these roles count. */
  readonly roles?: readonly string[]
  /** Milliseconds within which the approval must be granted and used; default seven days. */
  readonly expiresMs?: number
  /** Allows the requester to approve. */
  readonly selfApproval?: boolean
  /** Effect of a denial: an error that the code (or the model) handles, `ApprovalDenied` (the default), or a rollback of the run. */
  readonly onDenied?: 'error' | 'rollback'
}

/** The actual cost of a call. */
export interface ToolUsage {
  readonly tokens?: number
  readonly cost?: Cost
}

/** How a tool is undone, checked, retried, timed, identified and budgeted. Times are in milliseconds. */
export interface ToolOptions<Args = unknown, Result = unknown> {
  /** Default: the name of the function. */
  readonly name?: string
  readonly description?: string
  /**
   * JSON Schema of the arguments that a model must give, an object. It is sent to the model and not used for parsing. Default: the schema of `input`, if its
   * library provides one (Standard JSON Schema). A wrapped function has no default, so a model cannot call it without this option (`tool-without-schema`). It
   * receives the object as its only argument, or the list in it if the only property of the schema is a list named `args`.
   */
  readonly parameters?: JsonObject
  /**
   * Error classes that the tool throws: the caller catches an instance of the class, live, on resume and on replay, with its own fields as far as they can be
   * recorded. Any other error is caught as `RecordedFailure`, with `name`, `message`, `code` and `status`.
   */
  readonly errors?: readonly ErrorClass[]
  /** Former names of the tool: calls recorded under one of them are served to it, and resumed under the recorded name. */
  readonly alias?: readonly string[]
  /** Undoes a call: a function, the name of another tool, or `not-needed` if there is nothing to undo. Without this option a call is never undone. */
  readonly compensate?:
    | ((undo: Undo<Args, Result>, context: CallContext) => unknown)
    | CompensateOptions<Args, Result>
    | 'not-needed'
    | (string & {})
  /** Retries of a compensation; default 3. */
  readonly compensationRetries?: number
  /** Also undo a call if it is unknown whether it was executed. */
  readonly compensateUnknown?: boolean
  /** Called before a call in doubt is retried, compensated or left, to find out whether it was executed; undefined if it cannot tell. */
  readonly check?: (
    args: Args,
    context: { readonly idempotencyKey: string },
  ) => CheckResult<Result> | Promise<CheckResult<Result>>
  /** Number of retries; default 0, or 2 for a tool without effects. */
  readonly retries?: number
  /** Default: exponential from 200 ms, with jitter. */
  readonly backoff?: Backoff
  /** What is retried: only this tool (the default), or the whole saga after its rollback. */
  readonly retryScope?: 'tool' | 'transaction'
  /**
   * Effect of a failure on a plan or a model that makes the call, once its retries are used up: the saga or the conversation fails (`roll-back`, the default),
   * or the failure is an ordinary result (`continue`): the step is `failed` and the saga continues, or the model reads the error.
   */
  readonly onFailure?: 'roll-back' | 'continue'
  /**
   * States that the tool changes nothing, so there is nothing to undo: a call with an unknown outcome is repeated. After a timeout it is retried, and then fails with
   * an error that its caller and a model can read (`ToolTimedOut`). Never inferred.
   */
  readonly effects?: 'none'
  /** Milliseconds; a call that takes longer is in doubt, except for a tool with `effects: 'none'`. Default: none. */
  readonly timeout?: number
  /** Behaviour for a call with an unknown outcome: it may be run again (`retry`), or waits for a resolution (the default). */
  readonly onUnknown?: 'retry' | 'in-doubt'
  /** What makes two calls equal: the same arguments (default in a run's own body), or the same arguments at the same place. */
  readonly dedupe?: 'args' | 'position'
  /** Author-defined identity of a call. */
  readonly key?: (args: Args) => string
  /** Duration of the lease in milliseconds; it is renewed while the tool runs. Default 60,000. */
  readonly leaseMs?: number
  /** Maximum cost of each attempt. The call is refused (`budget-exceeded`) before it runs if the budget does not cover it. */
  readonly reserve?: ToolReserve | ((args: Args) => ToolReserve | undefined)
  /** Actual cost of a call; default: the full reservation, as an estimate. A failed attempt costs nothing. */
  readonly usage?: (result: Result, args: Args) => ToolUsage
  /** Requires an approval before a call runs: for every call (`true`), or as specified. The run's policy and manifests add their own rules. */
  readonly approve?: boolean | ApproveOptions
  /**
   * The tool returns its result in parts, as an async iterable or a web stream. The caller gets an async iterable as soon as the first part is available; the
   * record, a compensation and `usage` get the list of all parts. If the caller stops early, the source is stopped and the parts so far are the result.
   */
  readonly stream?: boolean
  /** Record only a digest of the result. A resume gets the value from `check`; without one it stops with `not-recorded`, as a replay does. */
  readonly record?: 'digest'
  /** A result that is too large to record is an error for the caller (`ResultTooLarge`, the default), or the run is rolled back. */
  readonly onTooLarge?: 'refuse' | 'roll-back'
  /** Behaviour while the ledger is unreachable: nothing runs (`stop`, the default), or the tool runs without being recorded. */
  readonly unreachable?: 'stop' | 'run'
}

interface Definition<Args, Result, Keeps> extends ToolOptions<Args, OnRecord<Awaited<NoInfer<Result>>, Keeps>> {
  readonly name: string
}

/** A tool with one argument, which a Standard Schema parses. */
export interface ParsedToolDefinition<Input, Output, Result, Keeps = never> extends Definition<Input, Result, Keeps> {
  readonly input: StandardSchema<Input, Output>
  readonly execute: (args: Output, context: CallContext) => Result
}

/** A tool with one argument, which is passed unparsed. */
export interface ToolDefinition<Input, Result, Keeps = never> extends Definition<Input, Result, Keeps> {
  readonly input?: undefined
  readonly execute: (args: Input, context: CallContext) => Result
}

interface ToolMembers {
  readonly toolName: string
  readonly description: string | undefined
}

/** A function whose calls are recorded, deduplicated, retried and undone. `Value` is its result in recorded form, live as well. */
export interface Tool<Args extends readonly unknown[], Value> extends ToolMembers {
  (...args: Args): Promise<Value>
}

/** A wrapped function; `execute` is the bare function. */
export interface FunctionTool<Args extends readonly unknown[], Result, Value = Recorded<Awaited<Result>>>
  extends Tool<Args, Value> {
  readonly execute: (...args: Args) => Result
}

export type AnyFunction = (...args: never[]) => unknown

/** The result of a function as its caller receives it. */
export type ValueOf<Fn extends AnyFunction, Keeps> = CallerGets<Awaited<ReturnType<Fn>>, Keeps>

/** A result in recorded form; a result in parts is recorded as a list. */
export type OnRecord<Result, Keeps> = [Result] extends [AsyncIterable<infer Part>]
  ? readonly Recorded<Part, Keeps>[]
  : Recorded<Result, Keeps>

/** A result as the caller of the tool receives it. */
export type CallerGets<Result, Keeps> = [Result] extends [AsyncIterable<infer Part>]
  ? AsyncIterable<Recorded<Part, Keeps>>
  : Recorded<Result, Keeps>

/**
 * The original signature with its type parameters if the recorded form of the result has the same type; otherwise a signature that returns the recorded form.
 */
export type Wrapped<Fn extends AnyFunction, Keeps = never> =
  ReturnType<Fn> extends Promise<unknown>
    ? Promise<ValueOf<Fn, Keeps>> extends ReturnType<Fn>
      ? Fn & ToolMembers & { readonly execute: Fn }
      : FunctionTool<Parameters<Fn>, ReturnType<Fn>, ValueOf<Fn, Keeps>>
    : FunctionTool<Parameters<Fn>, ReturnType<Fn>, ValueOf<Fn, Keeps>>

/** A defined tool; `execute` is the function of the definition. */
export interface DefinedTool<Input, Output, Result, Value = Recorded<Awaited<Result>>>
  extends Tool<[args: Input], Value> {
  readonly input: StandardSchema<Input, Output> | undefined
  readonly execute: (args: Output, context: CallContext) => Result
}
