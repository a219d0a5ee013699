/** @module What a tool says of itself: how it is undone, checked, retried, timed and identified. */

import type { JsonObject } from '../../../schemas/json.ts'
import type { Cost } from '../runtime/run-options.ts'
import type { Backoff } from './backoff.ts'
import type { ErrorClass } from './caught-error.ts'
import type { Recorded } from './recorded-type.ts'
import type { StandardSchema } from './standard-schema.ts'

/** What the runtime tells a tool about the call it carries out. */
export interface CallContext {
  /** Stable over retries and resume, new for each generation of the call: made to be passed on to a provider. */
  readonly idempotencyKey: string
  /** Aborted when the time is over or the run is aborted. */
  readonly signal: AbortSignal
  /** From 1. */
  readonly attempt: number
  readonly callId: string
  /** W3C Trace Context of the call, where it is traced: made to be passed on as the header `traceparent`. */
  readonly traceparent?: string
}

/** The call to undo, as it is on record. */
export interface Undo<Args, Result> {
  readonly args: Args
  readonly result: Result
}

/** What `check` found out of a doubtful call: done with this result, not done, or (undefined) that it cannot tell. */
export type CheckResult<Result> =
  | { readonly done: true; readonly result: Result }
  | { readonly done: false }
  | undefined

/** A compensation that says what is to happen where nobody knows whether it was carried out. */
export interface CompensateOptions<Args, Result> {
  /** Undoes the call: it gets what was passed, and what came of it. */
  readonly run: (undo: Undo<Args, Result>, context: CallContext) => unknown
  /** Carried out again (`retry`: it is safe to repeat), or left to somebody who looks. Default: as the tool says of itself. */
  readonly onUnknown?: 'retry' | 'in-doubt'
  /** Called first: was it undone? Undefined: cannot tell. `idempotencyKey` is the one that `run` received. */
  readonly check?: (
    undo: Undo<Args, Result>,
    context: { readonly idempotencyKey: string },
  ) => CheckResult<unknown> | Promise<CheckResult<unknown>>
}

/** Taken from the run's budget before a try, so that no other call spends it meanwhile. */
export interface ToolReserve {
  readonly tokens?: number
  readonly cost?: Cost
  /** Whose budget; default: the writer's. */
  readonly agent?: string
  /** Milliseconds after which it counts as spent where no outcome came; default 10 minutes. */
  readonly deadlineMs?: number
}

/** When somebody has to approve a call before it runs, and what that takes. */
export interface ApproveOptions {
  /**
   * A condition over the recorded arguments, in the language of a policy's invariants: `args.amount > 1000`; of a wrapped function they are a list,
   * `args[0] > 1000`. What it cannot judge needs the approval. Default: every call.
   */
  readonly when?: string
  /** Shown to whoever decides. */
  readonly reason?: string
  /** How many different people have to say yes; default 1. */
  readonly quorum?: number
  /** Only tokens with one of these roles count. */
  readonly roles?: readonly string[]
  /** Milliseconds within which it has to be decided and used; default seven days. */
  readonly expiresMs?: number
  /** The requester may say yes as well. */
  readonly selfApproval?: boolean
  /** A denial is an error that the code (or the model) deals with, `ApprovalDenied`, by default; or the run is rolled back. */
  readonly onDenied?: 'error' | 'rollback'
}

/** What a call has cost. */
export interface ToolUsage {
  readonly tokens?: number
  readonly cost?: Cost
}

/** How a tool is undone, checked, retried, timed, identified and budgeted. Times are milliseconds. */
export interface ToolOptions<Args = unknown, Result = unknown> {
  /** Default: the function's own name. */
  readonly name?: string
  readonly description?: string
  /**
   * JSON Schema of what a model is to give, an object: sent to the model, and nothing is parsed by it. Default: that of `input`, where its library makes one
   * (Standard JSON Schema). A wrapped function has none by itself, which is an error where a model is to call it (`tool-without-schema`); it gets the object as
   * its one argument, or the list in it where the schema's only property is a list named `args`.
   */
  readonly parameters?: JsonObject
  /**
   * Classes of errors that it throws: its caller catches one as itself, live, on resume and on replay, with its own fields as far as they can be recorded. Any other
   * error is caught as `RecordedFailure`, with `name`, `message`, `code` and `status`.
   */
  readonly errors?: readonly ErrorClass[]
  /** Names that it had before: what the record holds under one of them is served to it, and resumed under the recorded name. */
  readonly alias?: readonly string[]
  /** Undoes a call: a function, the name of another tool, or that there is nothing to undo. Without it a call is left standing. */
  readonly compensate?:
    | ((undo: Undo<Args, Result>, context: CallContext) => unknown)
    | CompensateOptions<Args, Result>
    | 'not-needed'
    | (string & {})
  /** Tries of a compensation after the first; default 3. */
  readonly compensationRetries?: number
  /** Undo a call as well where it is not known whether it was executed. */
  readonly compensateUnknown?: boolean
  /** Called before a doubtful call is retried, compensated or left: was it done? Undefined: cannot tell. */
  readonly check?: (
    args: Args,
    context: { readonly idempotencyKey: string },
  ) => CheckResult<Result> | Promise<CheckResult<Result>>
  /** Tries after the first; default 0, and 2 of a tool without effects. */
  readonly retries?: number
  /** Default: exponential from 200 ms, with jitter. */
  readonly backoff?: Backoff
  /** What is tried again: this tool alone (the default), or the whole saga after it was rolled back. */
  readonly retryScope?: 'tool' | 'transaction'
  /**
   * What a failure means to whoever carries out the call for a plan or a model, once its retries are used up: it fails the saga or the conversation
   * (`roll-back`, the default), or it is a result like another (`continue`): the step is `failed` and the saga goes on, the model reads the error.
   */
  readonly onFailure?: 'roll-back' | 'continue'
  /**
   * It changes nothing, and there is nothing to undo: a call whose outcome is not known is made again. Timed out, it has its retries, and is then an error that its
   * caller and a model can read (`ToolTimedOut`). Never inferred.
   */
  readonly effects?: 'none'
  /** Milliseconds; a call that takes longer is in doubt, but for one without `effects`. Default: none. */
  readonly timeout?: number
  /** A call whose outcome is not known may be run again (`retry`), or waits for somebody to look (the default). */
  readonly onUnknown?: 'retry' | 'in-doubt'
  /** What makes two calls the same: equal arguments (default in a run's own body), or equal arguments at the same place. */
  readonly dedupe?: 'args' | 'position'
  /** The caller's own identity of a call. */
  readonly key?: (args: Args) => string
  /** Milliseconds; renewed while the tool runs. Default 60,000. */
  readonly leaseMs?: number
  /** What each try may cost at most: refused (`budget-exceeded`) before anything runs where the budget does not hold it. */
  readonly reserve?: ToolReserve | ((args: Args) => ToolReserve | undefined)
  /** What a call has cost; default: all that it had reserved, as an estimate. A failed try costs nothing. */
  readonly usage?: (result: Result, args: Args) => ToolUsage
  /** Somebody has to approve a call before it runs: every one (`true`), or as it says. A run's policy and manifests add their own rules. */
  readonly approve?: boolean | ApproveOptions
  /**
   * It gives its result in parts, an async iterable or a web stream: whoever calls it gets an async iterable as soon as the first part is there, and the record, a
   * compensation and `usage` the list of all. Left early, the source is stopped, and what came until then is the result.
   */
  readonly stream?: boolean
  /** Of the result only a digest is recorded. A resume gets the value from `check`, else it stops with `not-recorded`, as a replay does. */
  readonly record?: 'digest'
  /** A result that is too large to be recorded is refused to the caller as an answer (`ResultTooLarge`, the default), or the run is rolled back. */
  readonly onTooLarge?: 'refuse' | 'roll-back'
  /** What happens while the ledger cannot be reached: nothing runs (`stop`, the default), or the tool runs without a record. */
  readonly unreachable?: 'stop' | 'run'
}

interface Definition<Args, Result, Keeps> extends ToolOptions<Args, OnRecord<Awaited<NoInfer<Result>>, Keeps>> {
  readonly name: string
}

/** A tool of one argument, parsed by a Standard Schema. */
export interface ParsedToolDefinition<Input, Output, Result, Keeps = never> extends Definition<Input, Result, Keeps> {
  readonly input: StandardSchema<Input, Output>
  readonly execute: (args: Output, context: CallContext) => Result
}

/** A tool of one argument that is taken as it comes. */
export interface ToolDefinition<Input, Result, Keeps = never> extends Definition<Input, Result, Keeps> {
  readonly input?: undefined
  readonly execute: (args: Input, context: CallContext) => Result
}

interface ToolMembers {
  readonly toolName: string
  readonly description: string | undefined
}

/** A function that is recorded, deduplicated, retried and undone: `Value` is its result as the record keeps it, live as well. */
export interface Tool<Args extends readonly unknown[], Value> extends ToolMembers {
  (...args: Args): Promise<Value>
}

/** A wrapped function: `execute` is the bare function. */
export interface FunctionTool<Args extends readonly unknown[], Result, Value = Recorded<Awaited<Result>>>
  extends Tool<Args, Value> {
  readonly execute: (...args: Args) => Result
}

export type AnyFunction = (...args: never[]) => unknown

/** What a function's caller gets. */
export type ValueOf<Fn extends AnyFunction, Keeps> = CallerGets<Awaited<ReturnType<Fn>>, Keeps>

/** What a result is on record: of one in parts, their list. */
export type OnRecord<Result, Keeps> = [Result] extends [AsyncIterable<infer Part>]
  ? readonly Recorded<Part, Keeps>[]
  : Recorded<Result, Keeps>

/** What whoever calls a tool gets of its result. */
export type CallerGets<Result, Keeps> = [Result] extends [AsyncIterable<infer Part>]
  ? AsyncIterable<Recorded<Part, Keeps>>
  : Recorded<Result, Keeps>

/** The same signature, type parameters included, where the record keeps the result as it is; else one that gives what the record keeps. */
export type Wrapped<Fn extends AnyFunction, Keeps = never> =
  ReturnType<Fn> extends Promise<unknown>
    ? Promise<ValueOf<Fn, Keeps>> extends ReturnType<Fn>
      ? Fn & ToolMembers & { readonly execute: Fn }
      : FunctionTool<Parameters<Fn>, ReturnType<Fn>, ValueOf<Fn, Keeps>>
    : FunctionTool<Parameters<Fn>, ReturnType<Fn>, ValueOf<Fn, Keeps>>

/** A defined tool: `execute` is the function of the definition. */
export interface DefinedTool<Input, Output, Result, Value = Recorded<Awaited<Result>>>
  extends Tool<[args: Input], Value> {
  readonly input: StandardSchema<Input, Output> | undefined
  readonly execute: (args: Output, context: CallContext) => Result
}
