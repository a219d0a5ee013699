/** @module The life cycle of a run in this process: start or resume, body, and one of its ends (RUN-20 to RUN-24). */
import type { StartAnswer } from '../../../schemas/answers/runs.ts'
import type { Json } from '../../../schemas/json.ts'
import type { StartRun } from '../../../schemas/requests.ts'
import { resolvePolicy } from '../../../schemas/resolve-policy.ts'
import { readRecord } from '../branch/read-record.ts'
import { CALL_VALUE, recordable } from '../calls/recordable.ts'
import { memberValue } from '../calls/stored-value.ts'
import type { ToolRegistry } from '../calls/tool-spec.ts'
import { AgentError, clip, doubtIn, failureOf, LedgerRefused, RecordedFailure, RunWaiting } from '../errors.ts'
import { RecordedHistory } from '../history/recorded-history.ts'
import { type RecordedRun, readRun } from '../history/recorded-run.ts'
import { mustBeWhole, mustHaveInput, redactedOutputError } from '../history/redacted-parts.ts'
import type { PriceTable } from '../models/price-table.ts'
import { checkedJudge } from '../pipeline/judge.ts'
import type { TokenCounter } from '../pipeline/token-counter.ts'
import { NOTHING, noteOutcome, outcomeIn, type RunOutcome } from '../saga/outcome.ts'
import { openOutcome, type Rollback, rollBack } from '../saga/roll-back.ts'
import { causesOf, readable, thrownReason, thrownText } from '../thrown.ts'
import { isTooLarge, leavesOpen, notRecordable, outputTooLarge } from '../too-large.ts'
import { inRunSpan } from '../tracing/run-span.ts'
import type { TraceSpan } from '../tracing/trace-span.ts'
import { leaveDoubt } from './call-execution.ts'
import type { Connection } from './connection.ts'
import { type ExecutionContext, runWithin } from './execution-context.ts'
import type { Outer } from './leaving.ts'
import { settleForgotten } from './leftovers.ts'
import { type Run, runOf } from './run.ts'
import { type RunOptions, startRequest } from './run-options.ts'
import type { RunningRuns } from './running-runs.ts'
import { reach, Session } from './session.ts'

export interface Home {
  readonly connection: Connection
  readonly registry: ToolRegistry
  readonly running: RunningRuns
  readonly counter?: () => Promise<TokenCounter>
  readonly prices?: PriceTable | undefined
  /** Aborted by `close()`: runs that wait are left for a later process. */
  readonly leaving?: AbortSignal
}

const THROWN_MAX_CHARS = 500

export type Body<Input, Output, Keeps = never> = (run: Run<Input, Keeps>) => Output

/** The parameters of a start. */
export interface RunRequest<Input> {
  readonly options: RunOptions<Input>
  /** The point of another run that a branch starts from. */
  readonly branchOf?: StartRun['branchOf']
  /** The call of another run that this run is the work of. */
  readonly childOf?: StartRun['childOf']
  /** The run that executes that call in this process. */
  readonly outer?: Outer
  /** A worker carries on the run of the options' id as it is recorded. */
  readonly worker?: StartRun['worker']
  readonly onStarted?: (started: StartAnswer) => void
  /** Told when the code makes no request that the record waits for, and when it goes on. */
  readonly onStalled?: (isStalled: boolean) => void
  /** Called if the body threw: with the outcome of the run, and with the error that halted it in this process, if any. */
  readonly onFailed?: (outcome: RunOutcome, halted?: Error) => void
}

/** Resolves with the output. An exception of the body rolls the run back and is rethrown as the same object. */
export async function liveRun<Input, Output>(
  home: Home,
  request: RunRequest<Input>,
  body: Body<Input, Output>,
): Promise<Awaited<Output>> {
  home.registry.mustBeWhole()
  const { options, branchOf, childOf, worker } = request
  checkedJudge(options.judge)
  const origin = {
    ...(branchOf !== undefined && { branchOf }),
    ...(childOf !== undefined && { childOf }),
    ...(worker !== undefined && { worker }),
  }
  const start = { ...startRequest(options, body.name, home.registry.codecs), ...origin }
  const { name, traceparent } = { ...start, traceparent: options.traceparent }
  return inRunSpan({ name, traceparent }, (span) => startedRun(home, { ...request, start, span }, body))
}

interface StartedRun<Input> extends RunRequest<Input> {
  readonly start: StartRun
  readonly span: TraceSpan | undefined
}

async function startedRun<Input, Output>(
  home: Home,
  { options, branchOf, childOf, outer, worker, onStarted, onStalled, onFailed, start, span }: StartedRun<Input>,
  body: Body<Input, Output>,
): Promise<Awaited<Output>> {
  const { connection, registry, counter } = home
  const started = await begun(connection, { start, span, onStarted })
  const { runId } = started
  const hasEnded = started.status !== 'open'
  const isChild = childOf !== undefined
  span?.set({
    'gen_ai.conversation.id': runId,
    'countersign.run.resumed': started.resumed === true ? true : undefined,
    'countersign.replayed': hasEnded ? true : undefined,
  })
  if (hasEnded) return (await recordedEnd(home, { runId, isChild }, started)) as Awaited<Output>

  const hasPast = started.resumed === true || branchOf !== undefined
  const record = hasPast ? await readRecord(connection, runId) : undefined
  if (record !== undefined && branchOf !== undefined) mustBeWhole(record)
  if (record?.rollbacks.some(({ scope }) => scope === undefined))
    return finishRollback(
      home,
      { runId, isChild },
      {
        record,
        ownRuns: options.whenOwned === 'take-over' ? (outer?.ownRuns ?? new Set()) : undefined,
      },
    )
  const session = new Session({
    runId,
    startedAt: started.startedAt ?? '',
    registry,
    live: { connection, fence: started.fence },
    ...(record !== undefined && {
      history: new RecordedHistory(
        record,
        branchOf === undefined ? 'resume-diverged' : 'branch-diverged',
        callKeyIn(started),
      ),
    }),
    ...(options.signal !== undefined && { signal: options.signal }),
    ...(counter !== undefined && { counter }),
    valueMaxBytes: started.valueMaxBytes,
    claimFirst: started.claimFirst,
    policy: started.policy ?? resolvePolicy(options.policy),
    prices: home.prices,
    judge: options.judge,
    whenOwned: options.whenOwned,
    whenWaiting: options.whenWaiting,
    ...{ leaving: home.leaving, outer, isCarried: worker !== undefined, onStalled },
  })
  const execution: ExecutionContext = { session, dedupe: 'args', ancestors: [], ...(span && { span }) }
  const run = runOf(execution, registry.codecs.decode(await inputOf(connection, start, record)) as Input)
  try {
    const output = await runWithin(execution, () => body(run))
    return (await runWithin(execution, () => complete(session, connection, output))) as Awaited<Output>
  } catch (thrown) {
    // A promise cannot resolve with everything that can be thrown.
    const error = (await runWithin(execution, () => divergenceBy(session, thrown))) ?? thrown
    const outcome = await runWithin(execution, () =>
      endFailed(home, session, { error: readable(error), options, isChild }),
    )
    span?.set({ 'countersign.run.status': outcome.status })
    onFailed?.(outcome, session.halted)
    noteOutcome(error, outcome)
    throw error
  } finally {
    session.close()
  }
}

interface Beginning extends Pick<StartedRun<never>, 'start' | 'span'> {
  readonly onStarted: RunRequest<never>['onStarted']
}

async function begun(connection: Connection, { start, span, onStarted }: Beginning): Promise<StartAnswer> {
  const traced = span === undefined ? {} : { traceparent: span.traceparent }
  const started = await connection.execute(start.id ?? '', { kind: 'start', body: start }, traced)
  if (!started.ok) throw new LedgerRefused(started.problem)
  onStarted?.(started.body)
  return started.body
}

/** A worker has the input from the record only. */
async function inputOf(
  connection: Connection,
  { id = '', input = null, worker }: StartRun,
  record?: RecordedRun,
): Promise<Json> {
  if (worker === undefined || record === undefined) return input
  mustHaveInput(record)
  return memberValue(connection, { runId: id, body: record, name: 'input' })
}

/** Key that the ledger returns only to the owner of the run; it finds calls whose arguments were left out of the record. */
function callKeyIn({ callKey }: StartAnswer): Uint8Array | undefined {
  return callKey === undefined ? undefined : Buffer.from(callKey, 'base64url')
}

/** Waits for everything that was started, then records the output. */
async function complete(session: Session, connection: Connection, output: unknown): Promise<unknown> {
  await awaitForgotten(session, () => settleForgotten(session))
  const stopped = session.halted ?? session.failed
  if (stopped !== undefined) throw stopped
  session.mustBeSpent()
  const { codecs } = session.registry
  const recorded = recordable(output, codecs, CALL_VALUE)
  if (!recorded.ok)
    throw recorded.tooLarge === true
      ? outputTooLarge(session.runId, recorded.reason)
      : notRecordable('the output of the run', recorded)
  const body = { output: recorded.value, ...session.abort.recorded, runFence: session.fence }
  const reply = await reach(session, () => connection.execute(session.runId, { kind: 'complete', body }))
  if (!reply.ok) {
    const refusal = new LedgerRefused(reply.problem)
    throw isTooLarge(refusal) ? outputTooLarge(session.runId, refusal.message, refusal) : session.halt(refusal)
  }
  return codecs.decode(recorded.value)
}

/**
 * The body has returned: waits for what its code let go of, and first for what that has yet to request of the record (RUN-250). `settle` ends what an earlier
 * life left of it.
 */
export async function awaitForgotten(session: Session, settle?: () => Promise<void>): Promise<void> {
  const diverged = await session.neverRequested()
  if (diverged !== undefined) throw diverged
  const forgotten = session.underWay
  const failure = await session.settled()
  if (session.halted === undefined && session.failed === undefined) await settle?.()
  session.close()
  if (forgotten.length === 0) return
  const tools = [...new Set(forgotten)].join(', ')
  if (failure !== undefined) throw failure
  process.emitWarning(
    `the run ${session.runId} ended before calls of ${tools} did: is an await missing? What lost a race needs none.`,
    {
      code: 'COUNTERSIGN_FORGOTTEN_AWAIT',
    },
  )
}

/** The divergence of code that throws on a resume before it has requested all that the record holds (RUN-245); undefined if the run has failed. */
async function divergenceBy(session: Session, thrown: unknown): Promise<Error | undefined> {
  const error = readable(thrown)
  if (leavesOpen(error) || isDivergence(error)) return undefined
  const diverged = await session.neverRequested(clip(thrownReason(error), THROWN_MAX_CHARS))
  if (diverged !== undefined) diverged.cause = thrown
  return diverged
}

async function endFailed(
  { connection, registry }: Home,
  session: Session,
  { error, options, isChild }: { error: unknown; options: RunOptions; isChild: boolean },
): Promise<RunOutcome> {
  const { runId } = session
  const doubt = session.isCarried ? doubtIn(error) : undefined
  const isLeft = session.failed === undefined && (leavesOpen(error) || doubt !== undefined)
  // Work that runs concurrently with a waiting call is finished first.
  if (session.halted instanceof RunWaiting || isLeft) await session.settled()
  if (doubt !== undefined) await leaveDoubt(session, doubt)
  // The run diverged, or the ledger is unreachable or refuses further commands: the run stays as it is, to be resumed.
  if (session.halted !== undefined || isLeft || isDivergence(error)) return openOutcome(runId)
  // Code beside the one that threw asks in vain, as on a replay.
  session.close()
  try {
    if (!isOverBudget(error) || options.compensateOnBudgetExceeded !== false) {
      return await rollBack({
        connection,
        registry,
        runId,
        reason: error instanceof Error ? thrownReason(error) : `thrown: ${thrownText(error)}`,
        ...(isChild && { error: failureOf(error) }),
        session,
      })
    }
    await session.settled()
    const failed = await connection.execute(runId, {
      kind: 'fail',
      body: { error: failureOf(error), runFence: session.fence },
    })
    return failed.ok ? { runId, status: 'FAILED', ...NOTHING } : openOutcome(runId, new LedgerRefused(failed.problem))
  } catch (rollbackError) {
    // An error that interrupts the rollback never hides the error that caused it.
    return openOutcome(runId, rollbackError)
  }
}

function isOverBudget(error: unknown): boolean {
  for (const cause of causesOf(error)) {
    const refused = cause instanceof LedgerRefused || cause instanceof RecordedFailure ? cause : undefined
    if (refused?.code === 'budget-exceeded') return true
  }
  return false
}

function isDivergence(error: unknown): boolean {
  return error instanceof AgentError && (error.code === 'resume-diverged' || error.code === 'branch-diverged')
}

interface Ended {
  readonly runId: string
  /** The run is the work of a call of another run. */
  readonly isChild: boolean
}

type RecordedEnd = Pick<StartAnswer, 'status' | 'output' | 'outputRef' | 'outputRedacted' | 'error'>

/** The run has ended: returns its output or throws its failure. */
export async function recordedEnd(home: Home, ended: Ended, body: RecordedEnd): Promise<unknown> {
  const { runId } = ended
  if (body.outputRedacted !== undefined) throw redactedOutputError(runId)
  if (body.status === 'completed') {
    const output = await memberValue(home.connection, { runId, body, name: 'output' })
    return home.registry.codecs.decode(output)
  }
  if (body.status === 'compensated') return throwRolledBack(ended, await readRun(home.connection.events(runId)))
  const cause = new RecordedFailure(failureIn(body.error))
  const message = `the run ${runId} has failed: ${cause.message}`
  const failed = ended.isChild ? cause : new AgentError('run-failed', message, { runId }, { cause })
  noteOutcome(failed, { runId, status: 'FAILED', ...NOTHING })
  throw failed
}

function failureIn(error: Json | undefined): { readonly message: string } {
  return typeof error === 'object' && error !== null && 'message' in error
    ? { ...error, message: String(error.message) }
    : { message: 'no reason recorded' }
}

interface Interrupted {
  readonly record: RecordedRun
  readonly ownRuns: Rollback['ownRuns']
}

/** An earlier process was rolling the run back: the rollback is finished and is the end of the run. */
async function finishRollback(home: Home, ended: Ended, { record, ownRuns }: Interrupted): Promise<never> {
  const { runId } = ended
  const reason = record.rollbacks.find(({ scope }) => scope === undefined)?.reason ?? ''
  await rollBack({ ...home, runId, reason, ownRuns })
  return throwRolledBack(ended, await readRun(home.connection.events(runId)))
}

/** For the call of a run within a run, the end of the child is the error that its code ended with (RUN-195). */
function throwRolledBack({ runId, isChild }: Ended, record: RecordedRun): never {
  const { reason = '', error: thrown } = record.rollbacks.find(({ scope }) => scope === undefined) ?? {}
  const outcome = outcomeIn(record, runId)
  const evidence = { runId, reason, status: outcome.status }
  const error =
    isChild && thrown !== undefined
      ? new RecordedFailure(thrown)
      : new AgentError('run-rolled-back', `the run ${runId} was rolled back: ${reason}`, evidence)
  noteOutcome(error, outcome)
  throw error
}
