/** @module What a tool says of itself: how it is undone, checked, retried, timed and identified. */

import type { Cost } from '../runtime/run-options.ts'
import type { Backoff } from './backoff.ts'
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
}

/** The call to undo, as it is on record. */
export interface Undo<Args, Result> {
  readonly args: Args
  readonly result: Result
}

export type CheckResult<Result> =
  | { readonly done: true; readonly result: Result }
  | { readonly done: false }
  | undefined

/** Taken from the run's budget before a try, so that no other call spends it meanwhile. */
export interface ToolReserve {
  readonly tokens?: number
  readonly cost?: Cost
  /** Whose budget; default: the writer's. */
  readonly agent?: string
  /** Milliseconds after which it counts as spent where no outcome came; default 10 minutes. */
  readonly deadlineMs?: number
}

export interface ToolUsage {
  readonly tokens?: number
  readonly cost?: Cost
}

export interface ToolOptions<Args = unknown, Result = unknown> {
  /** Default: the function's own name. */
  readonly name?: string
  readonly description?: string
  /** Undoes a call: a function, the name of another tool, or that there is nothing to undo. Without it a call is left standing. */
  readonly compensate?: ((undo: Undo<Args, Result>, context: CallContext) => unknown) | 'not-needed' | (string & {})
  /** Tries of a compensation after the first; default 3. */
  readonly compensationRetries?: number
  /** Undo a call as well where it is not known whether it was executed. */
  readonly compensateUnknown?: boolean
  /** Asked before a doubtful call is retried, compensated or left: was it done? Undefined: cannot tell. */
  readonly check?: (
    args: Args,
    context: { readonly idempotencyKey: string },
  ) => CheckResult<Result> | Promise<CheckResult<Result>>
  /** Tries after the first; default 0. */
  readonly retries?: number
  /** Default: exponential from 200 ms, with jitter. */
  readonly backoff?: Backoff
  /** What is tried again: this tool alone (the default), or the whole saga after it was rolled back. */
  readonly retryScope?: 'tool' | 'transaction'
  /** Milliseconds; a call that takes longer is in doubt. Default: none. */
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
  /** What happens while the ledger cannot be reached: nothing runs (`stop`, the default), or the tool runs without a record. */
  readonly unreachable?: 'stop' | 'run'
}

interface Definition<Args, Result> extends ToolOptions<Args, Awaited<Result>> {
  readonly name: string
}

/** A tool of one argument, parsed by a Standard Schema. */
export interface ParsedToolDefinition<Input, Output, Result> extends Definition<Input, Result> {
  readonly input: StandardSchema<Input, Output>
  readonly execute: (args: Output, context: CallContext) => Result
}

/** A tool of one argument that is taken as it comes. */
export interface ToolDefinition<Input, Result> extends Definition<Input, Result> {
  readonly input?: undefined
  readonly execute: (args: Input, context: CallContext) => Result
}

/** A function that is recorded, deduplicated, retried and undone. `Call` is what it takes. */
export interface Tool<Args extends readonly unknown[], Result> {
  (...args: Args): Promise<Awaited<Result>>
  readonly toolName: string
  readonly description: string | undefined
}

/** A wrapped function: `execute` is the function as it was given. */
export interface FunctionTool<Args extends readonly unknown[], Result> extends Tool<Args, Result> {
  readonly execute: (...args: Args) => Result
}

/** A defined tool: `execute` is the function of the definition. */
export interface DefinedTool<Input, Output, Result> extends Tool<[args: Input], Result> {
  readonly input: StandardSchema<Input, Output> | undefined
  readonly execute: (args: Output, context: CallContext) => Result
}
