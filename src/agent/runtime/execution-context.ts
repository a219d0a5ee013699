/** @module The execution context: the current place in a run. It follows asynchronous calls and can be passed on explicitly. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { CallContext } from '../calls/tool-options.ts'
import type { TraceSpan } from '../tracing/trace-span.ts'
import type { Session } from './session.ts'
import type { StepFrame } from './step-frame.ts'

export interface ExecutionContext {
  readonly session: Session
  /** Path of names; absent in the run's own body. */
  readonly scope?: string
  /** Calls of one group are undone concurrently. */
  readonly group?: string
  /** How equal calls are distinguished here if the tool does not specify it. */
  readonly dedupe: 'args' | 'position'
  /** The calls inside which the code runs, innermost last. */
  readonly ancestors: readonly Ancestor[]
  /** The fork branch that this code is part of; its calls are not shared with other branches and end with it. */
  readonly branch?: BranchFrame
  /** The agent step that this code is part of; its calls are attributed to that agent. */
  readonly step?: StepFrame
  /** The code undoes another call. A tool that it calls is part of the compensation and runs without being recorded. */
  readonly undoing?: boolean
  /** The call repeats a recorded one whose content is not in the record; its outcome is delivered in the order of the recorded one. */
  readonly isAgain?: true
  readonly context?: CallContext
  /** Span of the run, or of the call whose tool the code runs in; absent if tracing is off. */
  readonly span?: TraceSpan
}

interface BranchFrame {
  readonly scope: string
  /** Aborted when the branch or the run is abandoned. */
  readonly signal: AbortSignal
  /** Aborted when another branch has won; work that is still running here is no longer awaited. */
  readonly abandoned: AbortSignal
  /** Its fork, and the forks around that one, which all wait for this code. */
  readonly forks: readonly object[]
}

/** The signal that ends the code here: the branch's, which follows the run's, or the run's. */
export const signalAt = ({ branch, session }: ExecutionContext): AbortSignal | undefined =>
  branch?.signal ?? session.signal

interface Ancestor {
  readonly callId: string
  readonly tool: string
  readonly argsDigest: string
  /** Fencing token of the claim under which the call runs. */
  readonly fence: number
  /** Claims the call, if it runs unclaimed: what its code asks of the run is recorded after that claim. */
  readonly claim?: () => Promise<void>
}

const executions = new AsyncLocalStorage<ExecutionContext>()

export const currentExecution = (): ExecutionContext | undefined => executions.getStore()
export function runWithin<T>(execution: ExecutionContext, fn: () => T): T {
  const { span } = execution
  return executions.run(execution, span === undefined ? fn : () => span.within(fn))
}

/** W3C trace context of the current code. */
export const traceparentHere = (): string | undefined => executions.getStore()?.span?.traceparent

/**
 * The context that the runtime passes to the tool that is running now; undefined outside of a tool. For wrapped functions, whose signature has no context
 * parameter.
 * @example
 * ```ts
 * import { currentCall, open } from 'countersign/agent'
 *
 * await using cs = await open({ path: ':memory:' })
 * const charge = cs.tool(async (cents: number) => `${currentCall()?.idempotencyKey}: ${cents}`, { name: 'charge', compensate: 'not-needed' })
 * console.log(await cs.run({ name: 'order' }, async () => charge(2_500)))
 * ```
 */
export function currentCall(): CallContext | undefined {
  return currentExecution()?.context
}

/** Appends one name to a path. `/` and `%` are escaped, since a slash would make two names. */
export function joined(scope: string | undefined, name: string): string {
  const part = name.replaceAll(/[%/]/g, encodeURIComponent)
  return scope === undefined ? part : `${scope}/${part}`
}
