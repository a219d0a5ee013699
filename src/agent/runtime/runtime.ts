/** @module The runtime on one connection: tools, runs, sagas, recovery, replay. */
import type { Json } from '../../../schemas/json.ts'
import { type BranchRunOptions, branchRun } from '../branch/branch.ts'
import type { ApprovalNotice } from '../calls/approval-notice.ts'
import { type Codec, Codecs, type CodecValues } from '../calls/codecs.ts'
import type { WaitNotice } from '../calls/owner-wait.ts'
import type { Recorded } from '../calls/recorded-type.ts'
import type {
  AnyFunction,
  CallerGets,
  DefinedTool,
  OnRecord,
  ParsedToolDefinition,
  ToolDefinition,
  ToolOptions,
  Wrapped,
} from '../calls/tool-options.ts'
import { type AnyTool, ToolRegistry } from '../calls/tool-spec.ts'
import { wrapTool } from '../calls/wrap-tool.ts'
import { type ReplayResult, type ReplaySource, replayRun } from '../history/replay.ts'
import { checkedPrices, type PriceTable } from '../models/price-table.ts'
import { type CountTokens, tokenCounter } from '../pipeline/token-counter.ts'
import { runSaga } from '../saga/run-saga.ts'
import type { SagaResult } from '../saga/saga-result.ts'
import type { SagaSteps } from '../saga/saga-steps.ts'
import { type SentSignal, type SignalOptions, sendSignal } from '../waits/send-signal.ts'
import type { RunWaitNotice } from '../waits/wait-notice.ts'
import { type ResultOptions, resultOf, type StartedRun, startForWorkers } from '../workers/start.ts'
import { startWorker, type Worker, type WorkerOptions } from '../workers/worker.ts'
import { type Approvals, approvalsOf } from './approvals.ts'
import { checkBody, checkNothingFollows, checkRun } from './check-run.ts'
import type { Connection, TailedEvent } from './connection.ts'
import { type Body, type Home, liveRun, type RunRequest } from './live-run.ts'
import { startHere } from './nested-run.ts'
import type { RunFilter, RunSummary, TailOptions } from './read-types.ts'
import { listedRuns, tailed } from './reads.ts'
import { type RecoverOptions, type Recovery, recover } from './recover.ts'
import { type Resolution, type ResolvedCall, resolveCall } from './resolve-call.ts'
import type { RunOptions, StartOptions } from './run-options.ts'
import { RunningRuns } from './running-runs.ts'
import { UnderWay } from './under-way.ts'

/**
 * A ledger to run on: tools, runs, sagas, recovery, replay and branches. Created by `open`, `connect` or `fromEnv`; `close` it, or use `await using`. `Keeps`:
 * the types beyond JSON that its codecs preserve.
 * @example
 * ```ts
 * import { open } from 'countersign/agent'
 *
 * await using cs = await open({ path: ':memory:' })
 * const refund = cs.tool(async (payment: string) => `refunded ${payment}`, { name: 'refund', compensate: 'not-needed' })
 * const pay = cs.tool(async (cents: number) => `p-${cents}`, { name: 'pay', compensate: ({ result }) => refund(result) })
 * await cs.run({ id: 'order', name: 'order' }, async () => pay(100))
 * const { verdict } = await cs.replay('order', async () => pay(100))
 * console.log(verdict) // exact
 * ```
 */
export interface Countersign<Keeps = never> extends AsyncDisposable {
  /** The location of the ledger: a path or a URL. */
  readonly place: string
  /** URL at which this process serves the ledger: `open({ serve })`. */
  readonly url?: string
  /** Wraps a function: same signature, recorded inside a run. Throws `tool-registered-twice`, `tool-unnamed`. */
  tool<Fn extends AnyFunction>(
    fn: Fn,
    options?: ToolOptions<Parameters<Fn>, OnRecord<Awaited<ReturnType<Fn>>, Keeps>>,
  ): Wrapped<Fn, Keeps>
  tool<Input, Parsed, Result>(
    definition: ParsedToolDefinition<Input, Parsed, Result, Keeps>,
  ): DefinedTool<Input, Parsed, Result, CallerGets<Awaited<Result>, Keeps>>
  tool<Input, Result>(
    definition: ToolDefinition<Input, Result, Keeps>,
  ): DefinedTool<Input, Input, Result, CallerGets<Awaited<Result>, Keeps>>
  /**
   * Starts a run, or resumes the run with that id, and returns the output. An exception rolls back what was done and is rethrown as the same object;
   * `outcomeOf(error)` returns the result of the rollback. A resumed run requests the same calls and gets their recorded outcomes.
   */
  run<Output, Input = null>(
    options: RunOptions<Input>,
    body: Body<Input, Output, Keeps>,
  ): Promise<Recorded<Awaited<Output>, Keeps>>
  run<Output>(body: Body<null, Output, Keeps>): Promise<Recorded<Awaited<Output>, Keeps>>
  /**
   * Records a run without executing it: a worker that has code of this name takes it, in this process or in another one. With an `id`, starting the same run
   * again has no further effect. Throws `not-recordable`, `invalid-option`, and `LedgerRefused`: `run-exists`.
   */
  start(name: string, input?: unknown, options?: StartOptions): Promise<StartedRun>
  /**
   * Waits for the end of a run, in whatever process it executes, and returns its output. Throws `run-failed`, `run-rolled-back` (`outcomeOf(error)` has the
   * rollback), and the signal's reason.
   */
  result<Output = Json>(runId: string, options?: ResultOptions): Promise<Output>
  /**
   * Starts a worker: it resumes open runs of its names once they can continue (started, granted, signalled, due, resolved, or left by a process that died),
   * until it is stopped, for example because the runtime is closed. Any number of workers share the runs. Throws `invalid-option`.
   */
  worker(options: WorkerOptions<Keeps>): Worker
  /**
   * Runs a sequence of calls as a separate run; the result reports how each step ended. Never throws for the failure of a step, except if a value is too
   * large to record.
   */
  saga(steps: SagaSteps, options?: RunOptions): Promise<SagaResult>
  /** Cleans up after a crash or a resolution: finishes rollbacks, including those that ended in doubt, runs `check` for calls in doubt, and lists the rest. */
  recover(options?: RecoverOptions): Promise<Recovery>
  /**
   * Ends the doubt about a call with a finding, which is recorded together with the reason. Nothing is executed: resume the run, or call `recover()`. Throws
   * `call-not-found`, `call-not-in-doubt`.
   */
  resolve(callId: string, resolution: Resolution): Promise<ResolvedCall>
  /** The tools created so far, without those that undo another: for `agent({ model, tools: cs.tools })`. */
  readonly tools: readonly AnyTool[]
  /** Pending approvals and decisions on them, in the name of this runtime's caller. */
  readonly approvals: Approvals
  /**
   * Sends a signal to a run: it ends the oldest wait for it (`delivered`), or is kept for the next one (`held`). With a `requestId`, sending the same signal
   * again has no further effect. Throws `not-recordable`, `value-too-large` (over 64 KiB), and `LedgerRefused`: `signal-invalid`, `signal-not-awaited`,
   * `signals-full`, `run-ended`.
   */
  signal(runId: string, name: string, payload?: unknown, options?: SignalOptions): Promise<SentSignal>
  /** Runs the code on a recorded run without calling a tool; throws at the first divergence. */
  replay<Output, Input = null>(
    source: ReplaySource,
    body: Body<Input, Output, Keeps>,
  ): Promise<ReplayResult<Recorded<Awaited<Output>, Keeps>>>
  /**
   * Starts a run from a past step of another: the code is served the calls recorded up to then and continues live. Each stream references the other run. The
   * same `id` again resumes the branch.
   */
  branch<Output, Input = Json>(
    runId: string,
    options: BranchRunOptions,
    body: Body<Input, Output, Keeps>,
  ): Promise<Recorded<Awaited<Output>, Keeps>>
  /** Runs of the tenant, newest first. */
  runs(filter?: RunFilter): AsyncIterable<RunSummary>
  /** Events of all writers: first the existing ones, then new ones, until the signal is aborted or the reader stops. */
  tail(options?: TailOptions): AsyncIterable<TailedEvent>
  /** The JSONL export of a run, as chunks of text. */
  export(runId: string): AsyncIterable<string>
  /**
   * Stops workers, waits until everything that was begun here is over, and closes the ledger if this process opened it. Runs that only wait, for a time, a
   * signal or an approval, are left: they throw `RunWaiting`, stay open, and are resumed later. The end of `await using` waits for them instead. Later calls
   * throw `closed`. Code that runs inside a run must not close its runtime: `recursive-call`.
   */
  close(): Promise<void>
}

/** Settings of a runtime, independent of where its ledger is. */
export interface RuntimeOptions<C extends readonly Codec[] = readonly []> {
  /** Counts the tokens of slices and handoffs. Default: `gpt-tokenizer` if it is installed, otherwise UTF-8 bytes / 4; results name the counter. */
  readonly tokens?: CountTokens
  /** Prices of model calls; none are built in. A run with a cost limit refuses models that the table does not list. */
  readonly prices?: PriceTable
  /** Codecs for values beyond JSON in arguments, results, inputs and outputs, such as `dateCodec`. Default: none; such values are refused. */
  readonly codecs?: C
  /** Called after one second and then every minute while a call waits for another owner's lease. Default: a process warning. */
  readonly onWait?: (notice: WaitNotice) => void
  /** Called once for each call that waits for an approval, to notify an approver. Default: not called. */
  readonly onApproval?: (notice: ApprovalNotice) => void
  /** Called once per process for each wait for a signal or a time. Default: not called. */
  readonly onWaiting?: (notice: RunWaitNotice) => void
  /**
   * How long a resume or a replay waits for a recorded request while the code makes none of the recorded ones; after that the run diverges. Must exceed the
   * time that the code works on its own between two calls. Default: 30,000 milliseconds, with a process warning after 5,000.
   */
  readonly divergesAfterMs?: number
}

async function startRun(home: Home, options: RunOptions<never>, body: Body<never, unknown>): Promise<unknown> {
  checkBody('run', body)
  checkRun('run', options)
  return startHere(home, { kind: 'run', options, name: body.name, start: (request) => liveRun(home, request, body) })
}

/** How messages name a run. The options may be invalid, since they are validated later. */
const nameOf = (run?: { readonly id?: string; readonly name?: string }): string =>
  `the run ${run?.id || run?.name || 'without a name'}`

/** Creates the runtime on a connection that is open already. Throws `invalid-prices`. */
export function createRuntime<const C extends readonly Codec[] = readonly []>(
  connection: Connection,
  { tokens, prices, codecs, ...notices }: RuntimeOptions<C> = {},
): Countersign<CodecValues<C>> {
  const registry = new ToolRegistry(new Codecs(codecs), notices)
  const leaving = new AbortController()
  const home = {
    connection,
    registry,
    running: new RunningRuns(registry.codecs),
    counter: tokenCounter(tokens),
    prices: prices === undefined ? undefined : checkedPrices(prices),
    leaving: leaving.signal,
  }
  const underWay = new UnderWay(connection.place)
  const open = <T>(work: () => Promise<T>, name = 'a request'): Promise<T> => underWay.begin(name, work)
  const dispose = (): PromiseLike<void> => connection[Symbol.asyncDispose]()
  const runtime = {
    place: connection.place,
    ...(connection.url !== undefined && { url: connection.url }),
    // Typed loosely, because callers only see the overloads of the interface.
    tool: (what: Parameters<typeof wrapTool>[1], options: ToolOptions = {}) => wrapTool(registry, what, options),
    get tools() {
      return registry.tools
    },
    run: (options: RunOptions<never> | Body<never, unknown>, body: Body<never, unknown>) =>
      typeof options === 'function'
        ? open(
            async () => {
              checkNothingFollows(body)
              return startRun(home, {}, options)
            },
            nameOf({ name: options.name }),
          )
        : open(() => startRun(home, options, body), nameOf(options)),
    start: (name: string, input?: unknown, options?: StartOptions) =>
      open(() => startForWorkers(home, { name, input }, options)),
    result: (runId: string, options?: ResultOptions) => underWay.read(() => resultOf(home, runId, options)),
    worker: (options: WorkerOptions) => underWay.beginUntilStopped('a worker', () => startWorker(home, options)),
    saga: (steps: SagaSteps, options: RunOptions = {}) =>
      open(async () => {
        checkRun('saga', options)
        const start = (request: RunRequest<unknown>) => runSaga(home, steps, request)
        return startHere(home, { kind: 'saga', options, name: 'saga', start })
      }, 'a saga'),
    recover: (options?: RecoverOptions) => open(() => recover(home, options), 'recover'),
    resolve: (callId: string, resolution: Resolution) => open(() => resolveCall(home, callId, resolution)),
    approvals: approvalsOf(connection, open),
    signal: (runId: string, name: string, payload?: unknown, options?: SignalOptions) =>
      open(() => sendSignal(connection, { runId, name, payload }, options)),
    replay: (source: ReplaySource, body: Body<never, unknown>) =>
      open(async () => {
        checkBody('replay', body)
        return replayRun(home, source, body)
      }, 'a replay'),
    branch: (run: string, options: BranchRunOptions, body: Body<never, unknown>) =>
      open(async () => {
        checkRun('branch', options)
        checkBody('branch', body)
        return branchRun(home, { run, options, body })
      }, `a branch of ${run}`),
    runs: (filter?: RunFilter) => underWay.readItems(() => listedRuns(connection, filter)),
    tail: (options?: TailOptions) => underWay.readItems(() => tailed(connection, options)),
    export: (runId: string) => underWay.readItems(() => connection.exportRun(runId)),
    close: () => underWay.close(dispose, () => leaving.abort()),
    [Symbol.asyncDispose]: () => underWay.close(dispose),
  }
  return runtime as unknown as Countersign<CodecValues<C>>
}
