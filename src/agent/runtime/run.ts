/** @module The `Run` object that a run's body receives: explicit calls, recorded values, and scopes. */
import type { Json } from '../../../schemas/json.ts'
import { NAME_MAX_CHARS, SCOPE_MAX_CHARS } from '../../../schemas/value-forms.ts'
import { callTool } from '../calls/call.ts'
import type { Recorded } from '../calls/recorded-type.ts'
import type { DefinedTool, FunctionTool, ToolOptions } from '../calls/tool-options.ts'
import { type ToolSpec, toolSpec } from '../calls/tool-spec.ts'
import { specOf } from '../calls/wrap-tool.ts'
import { AgentError } from '../errors.ts'
import { fork } from '../fork/fork.ts'
import type { BranchContextOf, BranchOf, ForkOptions, ForkResult } from '../fork/fork-types.ts'
import { callModel, type ModelCall } from '../models/model-call.ts'
import { establishedContext, handOff, rollBackContext } from '../pipeline/handoff.ts'
import type { Established, HandoffOptions, HandoffResult, Rewound, RollbackOptions } from '../pipeline/handoff-types.ts'
import { runStep } from '../pipeline/step.ts'
import type { StepAgent, StepOptions, StepResult } from '../pipeline/step-types.ts'
import { isCovered } from '../saga/outcome.ts'
import { carrySaga, type SagaOptions } from '../saga/saga.ts'
import type { SagaResult } from '../saga/saga-result.ts'
import type { SagaSteps } from '../saga/saga-steps.ts'
import { type Until, type WaitOptions, waitFor } from '../waits/wait-for.ts'
import { checkName, checkOnce, checkSagaOptions, checkValue } from './check-run.ts'
import type { Reads } from './connection.ts'
import { currentExecution, type ExecutionContext, runWithin, signalAt } from './execution-context.ts'
import type { RunBudget, RunCall } from './read-types.ts'
import { budgetOf, callsOf } from './reads.ts'
import { scopeBelow } from './scope.ts'

/** A branch of `run.fork`. */
export type Branch<Input> = BranchOf<Run<Input>>
/** The context that the code of a branch receives, in addition to its run. */
export type BranchContext<Input> = BranchContextOf<Run<Input>>

/**
 * Options of a recorded value. `leaseMs`: how long a resume waits for a process that stopped while computing the value and cannot be proved dead, in
 * milliseconds; the lease is renewed meanwhile. `effects: 'none'`: computing it changes nothing. Value and claim are then one append; after a crash it is
 * computed again.
 */
export type ValueOptions = Pick<ToolOptions, 'leaseMs' | 'effects'>

/**
 * The run, as passed to its body: explicit calls, recorded values, scopes, sagas, forks, handoffs and model calls. On resume and replay, all of these are
 * served from the record. Throws `AgentError`, and `LedgerRefused` if the ledger refuses.
 * @example
 * ```ts
 * import { open } from 'countersign/agent'
 *
 * await using cs = await open({ path: ':memory:' })
 * const output = await cs.run({ name: 'order', input: { cents: 100 } }, async (run) => {
 *   const at = await run.now()
 *   const id = await run.uuid()
 *   return { cents: run.input.cents, at: at.toISOString(), id }
 * })
 * console.log(output.cents)
 * ```
 */
export interface Run<Input = Json, Keeps = never> {
  readonly id: string
  /** The input as recorded. */
  readonly input: Input
  readonly signal: AbortSignal | undefined
  /** Calls a tool in this run if the asynchronous context is lost, for example in an event emitter, a queue or a library callback. */
  call<Args extends readonly unknown[], Result, Value>(
    tool: FunctionTool<Args, Result, Value>,
    args: NoInfer<Args>,
  ): Promise<Value>
  call<Args, Parsed, Result, Value>(tool: DefinedTool<Args, Parsed, Result, Value>, args: NoInfer<Args>): Promise<Value>
  /** Runs `fn` once in the life of the run; a resume and a replay get the recorded value. */
  once<T>(name: string, fn: () => T | Promise<T>, options?: ValueOptions): Promise<Recorded<T, Keeps>>
  /** The current time; recorded, and the same on resume and replay. */
  now(options?: ValueOptions): Promise<Date>
  /** A random UUID; recorded, and the same on resume and replay. */
  uuid(options?: ValueOptions): Promise<string>
  /**
   * Whether changed code may run here: true in a run that reaches this place for the first time, and from then on; false if the record was made by the previous
   * code, so that the old path must be taken. `id` names the change.
   */
  patched(id: string): Promise<boolean>
  /**
   * Waits for a signal of this name and returns its payload. Signals are sent by `cs.signal`, `countersign signals send` or `POST
   * /v1/runs/{run}/signals/{name}`; one that arrived before the wait ends it at once. The wait holds no lease, and the process may exit: a resume continues to
   * wait. Throws `WaitTimedOut`, `invalid-wait`.
   */
  waitFor<Payload = Json>(name: string, options?: WaitOptions): Promise<Payload>
  /** Waits until a time, or for a number of milliseconds from the first call. The process may exit meanwhile; a resume sleeps for the rest. */
  sleep(until: Until): Promise<void>
  /** Runs code in its own scope. Give a scope to each branch of code that runs concurrently with others. */
  scope<T>(name: string, fn: (run: Run<Input, Keeps>) => T): Promise<Awaited<T>>
  /**
   * Calls a model of any provider: reserves budget before, settles the actual usage after, and is served from the record on resume and replay. Throws
   * `budget-exceeded`, `unbounded-output`, `unknown-price`, `not-recorded`, and the provider's errors.
   */
  model<Request, Response>(call: ModelCall<Request, Response>): Promise<Response>
  /** Executes a sequence of calls and rolls it back if one fails. Never throws for the failure of a step, except if a value is too large to record. */
  saga(steps: SagaSteps, options?: SagaOptions): Promise<SagaResult>
  /**
   * Runs branches concurrently on the current context and merges the valid results. Branches that are not merged are rolled back like sagas. Throws
   * `ForkFailed` if nothing can be merged; the context is then unchanged.
   */
  fork(branches: readonly Branch<Input>[], options: ForkOptions): Promise<ForkResult>
  /** Hands a payload over. The ledger accepts it, or refuses it with findings and rewinds the context to the last snapshot. */
  handoff(payload: object, options: HandoffOptions): Promise<HandoffResult>
  /**
   * Shows an agent its slice of the context, takes its answer and hands it over. An agent is a function, or has `.invoke()` (a LangChain Runnable or graph) or
   * `.generate()` (an AI SDK agent). Throws `HandoffRefused` if the ledger refuses and no repair attempt is left.
   */
  step(agent: string, x: StepAgent, options?: StepOptions): Promise<StepResult>
  /** Moves the context back to an earlier step. Calls and their effects are not undone. */
  rollback(options?: RollbackOptions): Promise<Rewound>
  /** The calls of the run as the ledger has them now, oldest first. A decision based on them must go through `run.once`, or a resume may decide differently. */
  calls(): Promise<readonly RunCall[]>
  /** The run's spending and reservations so far, with its limits. Decisions must go through `run.once`, as for `calls`. */
  budget(): Promise<RunBudget>
  /** The established context; on resume and replay, the context at that time. */
  context(): Promise<Established>
}

const ONCE = 'run.once:'
const PATCHED = 'run.patched:'

export function runOf<Input>(execution: ExecutionContext, input: Input): Run<Input> {
  const { session } = execution
  /** The current execution context if it lies below this run's own place, otherwise this run's place. */
  const here = (): ExecutionContext => {
    const now = currentExecution()
    return now !== undefined && now.session === session && isCovered(execution.scope, now.scope) ? now : execution
  }
  const at = <T>(work: (execution: ExecutionContext) => Promise<T>): Promise<T> => {
    const place = here()
    return session.workAt(place, () => work(place))
  }
  const once = <T>(name: string, fn: () => T | Promise<T>, options?: ValueOptions): Promise<Recorded<T>> =>
    callTool(
      { ...here(), dedupe: 'position' },
      { ...valueSpec(name, fn, options), codecs: session.registry.codecs },
      null,
    ) as Promise<Recorded<T>>

  return {
    id: session.runId,
    input,
    signal: signalAt(execution),
    call: (tool: unknown, args: unknown) => {
      const spec = specOf(tool)
      if (spec === undefined)
        return Promise.reject(new AgentError('unknown-tool', 'run.call takes a tool that cs.tool made'))
      return callTool(here(), spec, args) as Promise<never>
    },
    once: async (name, fn, options) => {
      checkName('once', name, NAME_MAX_CHARS - ONCE.length)
      checkOnce(fn, options)
      return once(`${ONCE}${name}`, fn, options)
    },
    now: async (options) => {
      checkValue('now', options)
      return new Date(await once('run.now', () => new Date().toISOString(), { ...options, effects: 'none' }))
    },
    uuid: async (options) => {
      checkValue('uuid', options)
      return once('run.uuid', () => globalThis.crypto.randomUUID() as string, { ...options, effects: 'none' })
    },
    patched: async (id) => {
      checkName('patched', id, NAME_MAX_CHARS - PATCHED.length)
      const tool = `${PATCHED}${id}`
      const at = `${here().scope ?? ''}\n${id}`
      const patched = session.patches.get(at) ?? (passedBefore(here(), tool) ? false : once(tool, () => true))
      session.patches.set(at, patched)
      return patched
    },
    waitFor: async <Payload>(name: string, options: WaitOptions = {}) =>
      (await waitFor(here(), { ...options, name: name ?? '' })) as Payload,
    sleep: async (until) => {
      await waitFor(here(), { until })
    },
    scope: async <T>(name: string, fn: (run: Run<Input>) => T): Promise<Awaited<T>> => {
      checkName('scope', name, SCOPE_MAX_CHARS)
      const inner = { ...here(), scope: scopeBelow(here(), name) }
      return await runWithin(inner, () => fn(runOf(inner, input)))
    },
    model: async (call) => callModel(here(), call),
    saga: (steps, options = {}) => at((place) => sagaAt(place, steps, options)),
    fork: (branches, options) =>
      at((execution) => fork({ execution, runOf: (inner) => runOf(inner, input) }, branches, options)),
    handoff: (payload, options) => at((place) => handOff(place, payload, options)),
    step: (agent, x, options = {}) => at((place) => runStep(place, agent, { x, options })),
    rollback: (options = {}) => at((place) => rollBackContext(place, options)),
    context: () => at(() => establishedContext(session)),
    calls: async () => callsOf(readsOf(session), session.runId),
    budget: async () => budgetOf(readsOf(session), session.runId),
  }
}

function sagaAt(place: ExecutionContext, steps: SagaSteps, options: SagaOptions): Promise<SagaResult> {
  checkSagaOptions(options)
  // Between its steps, and while it is undone, none of its calls need be under way.
  return place.session.tracked('run.saga', carrySaga(place, steps, options))
}

/** A replay reads from the connected ledger if that ledger has the run; otherwise throws `no-active-run`. */
function readsOf({ values, runId }: ExecutionContext['session']): Reads {
  if (values !== undefined) return values
  throw new AgentError('no-active-run', `the run ${runId} cannot be read here`, { runId })
}

/** Whether the record was made here by the previous code: it continues beyond this place and does not contain the patch. */
function passedBefore({ session, scope }: ExecutionContext, tool: string): boolean {
  const { history, live } = session
  if (history === undefined || history.hasAt({ tool, scope })) return false
  return live === undefined || history.isBehind
}

/** A value that differs between runs, recorded as a call that needs no undo and is safe to repeat. */
function valueSpec(name: string, fn: () => unknown, options: ValueOptions = {}): ToolSpec {
  const inputs = { name, input: undefined, takes: 'value', execute: fn } as const
  return toolSpec(inputs, { compensate: 'not-needed', onUnknown: 'retry', ...options })
}
