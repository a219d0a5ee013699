/** @module Where in a run the code stands: it travels with asynchronous calls, and can be handed on by hand. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { CallContext } from '../calls/tool-options.ts'
import type { TraceSpan } from '../tracing/trace-span.ts'
import type { Session } from './session.ts'
import type { StepFrame } from './step-frame.ts'

export interface ExecutionContext {
  readonly session: Session
  /** Path of names; absent in the run's own body. */
  readonly scope?: string
  /** Calls of one group are undone side by side. */
  readonly group?: string
  /** What distinguishes equal calls here, where the tool does not say. */
  readonly dedupe: 'args' | 'position'
  /** The call in whose tool the code runs, innermost last. */
  readonly ancestors: readonly Ancestor[]
  /** The fork branch that this is part of: what it calls is nobody else's, and ends with it. */
  readonly branch?: BranchFrame
  /** The agent whose step this is: calls are its calls. */
  readonly step?: StepFrame
  /** A tool that is called while another is undone is part of the undoing: it runs bare. */
  readonly undoing?: boolean
  /** In place of a recorded call whose content is not in the record: what comes of it is handed over as that call's outcome was. */
  readonly isAgain?: true
  readonly context?: CallContext
  /** Of the run, or of the call in whose tool the code runs; absent: nobody traces. */
  readonly span?: TraceSpan
}

interface BranchFrame {
  readonly scope: string
  /** Aborted when the branch or the run is abandoned. */
  readonly signal: AbortSignal
  /** Aborted when another branch has won: nobody waits for what still goes on here. */
  readonly abandoned: AbortSignal
}

/** What ends the code at a place: the run's signal, or the branch's, which follows it. */
export const signalAt = ({ branch, session }: ExecutionContext): AbortSignal | undefined =>
  branch?.signal ?? session.signal

interface Ancestor {
  readonly callId: string
  readonly tool: string
  readonly argsDigest: string
  /** Of the claim under which it runs. */
  readonly fence: number
}

const executions = new AsyncLocalStorage<ExecutionContext>()

export const currentExecution = (): ExecutionContext | undefined => executions.getStore()
export function runWithin<T>(execution: ExecutionContext, fn: () => T): T {
  const { span } = execution
  return executions.run(execution, span === undefined ? fn : () => span.within(fn))
}

/** W3C trace context of the code that runs now. */
export const traceparentHere = (): string | undefined => executions.getStore()?.span?.traceparent

/**
 * What the runtime tells the tool that is running now; undefined outside of one. For wrapped functions, whose signature is their own.
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

/** One name of a path; a slash in it would make two. */
export function joined(scope: string | undefined, name: string): string {
  const part = name.replaceAll(/[%/]/g, encodeURIComponent)
  return scope === undefined ? part : `${scope}/${part}`
}
