/** @module Executes a saga: groups in order, the calls of a group concurrently; rolls back on failure, and retries as a whole if a tool is configured so. */
import type { Json } from '../../../schemas/json.ts'
import type { Failure } from '../../../schemas/values.ts'
import { pause } from '../../client/transport.ts'
import { backoffMs } from '../calls/backoff.ts'
import { callTool } from '../calls/call.ts'
import type { CallTrace } from '../calls/call-trace.ts'
import { mayPassOver } from '../calls/own-failure.ts'
import { CALL_VALUE, recordable } from '../calls/recordable.ts'
import { AgentError, failureOf, InDoubt } from '../errors.ts'
import { type ExecutionContext, joined, runWithin } from '../runtime/execution-context.ts'
import { isTooLarge } from '../too-large.ts'
import { NOTHING, type RunOutcome } from './outcome.ts'
import { rollBackScope } from './roll-back-scope.ts'
import { afterRollback, SagaFailed, type SagaResult, type StepReport } from './saga-result.ts'
import { type PlannedStep, planSaga, type SagaSteps } from './saga-steps.ts'

export interface SagaOptions {
  /** Name of the saga, which becomes part of the scope; default `saga`. */
  readonly name?: string
}

interface Tried {
  readonly steps: readonly StepReport[]
  /** The first step that failed, with its error. */
  readonly failure?: { readonly step: PlannedStep; readonly error: unknown }
}

/**
 * Executes a saga and rolls its scope back on failure. Throws `invalid-saga`, `unknown-tool`, errors that halt the run, and errors for values too large to
 * record (RUN-196).
 */
export async function carrySaga(
  execution: ExecutionContext,
  steps: SagaSteps,
  options: SagaOptions = {},
): Promise<SagaResult> {
  const { result, tried } = await trySaga(execution, steps, options)
  if (tried.failure === undefined) return result
  return withRollback(result, await rollBackScope(execution, result.scope, tried.failure))
}

/** Like `carrySaga`, but leaves the rollback of the last attempt to the run and throws `SagaFailed`. `isUndone`: the record holds that rollback. */
export async function carryRunSaga(
  execution: ExecutionContext,
  steps: SagaSteps,
  isUndone = false,
): Promise<SagaResult> {
  const { result, tried } = await trySaga(execution, steps, {}, isUndone)
  if (tried.failure === undefined) return result
  throw new SagaFailed(result, tried.failure.error)
}

export function withRollback(result: SagaResult, outcome: RunOutcome): SagaResult {
  const { compensated, standing, failed, unknown, status } = outcome
  if (status === 'OPEN' || status === 'FAILED') return result
  const steps = afterRollback(result.steps, outcome)
  const times = compensated.flatMap(({ compensatedAt }) => compensatedAt ?? [])
  const endedAt = latest([result.endedAt, ...times])
  return { ...result, status, endedAt, steps, compensated, standing, failed, unknown }
}

async function trySaga(
  execution: ExecutionContext,
  steps: SagaSteps,
  { name = 'saga' }: SagaOptions,
  isUndone = false,
): Promise<{ result: SagaResult; tried: Tried }> {
  const { session } = execution
  const groups = planSaga(steps, session.registry)
  const path = `${joined(execution.scope, name)}:${session.occurrence(execution.scope, `saga ${name}`) + 1}`
  for (let tries = 1; ; tries += 1) {
    // A scope that was rolled back cannot be used again, so each attempt has its own.
    const scope = tries === 1 ? path : `${path}.${tries}`
    const tried = await oneTry({ ...execution, scope, dedupe: 'position' }, groups, tries)
    if (session.halted !== undefined) throw session.halted
    const { failure } = tried
    // Records of older releases hold a rollback for a saga that failed in this way.
    const wasUndone = isUndone || session.history?.rolledBackAfter(scope) !== undefined
    if (failure !== undefined && isTooLarge(failure.error) && !wasUndone) throw failure.error
    const result = resultOf(execution, { scope, tries, tried })
    const again = failure?.step.spec
    if (again?.retryScope !== 'transaction' || tries > again.retries) return { result, tried }
    const outcome = await rollBackScope(execution, scope, { error: failure?.error })
    if (outcome.status !== 'COMPENSATED') return { result, tried }
    if (session.isNewIn(`${path}.${tries + 1}`))
      await pause(backoffMs(again.backoff, tries, Math.random()), session.signal)
  }
}

async function oneTry(
  execution: ExecutionContext,
  groups: readonly (readonly PlannedStep[])[],
  tries: number,
): Promise<Tried> {
  const reports: StepReport[] = []
  let failure: Tried['failure']
  for (const [g, group] of groups.entries()) {
    const carried = await Promise.all(
      group.map(async (step): Promise<Carried> => {
        if (failure !== undefined) return { step, report: reportOf(step) }
        return carryStep({ ...execution, ...(group.length > 1 && { group: `group:${g + 1}` }) }, step)
      }),
    )
    for (const { step, report, thrown } of carried) {
      reports.push(report)
      if (thrown !== undefined && !continuesAfter(execution, step, { tries, error: thrown.error })) {
        failure ??= { step, error: thrown.error }
      }
    }
  }
  return { steps: reports, ...(failure !== undefined && { failure }) }
}

/**
 * Whether the saga continues after a failure, as the step is configured. It does not after an unknown outcome, a refusal by the ledger, or a failure after
 * which the whole saga is retried.
 */
function continuesAfter(
  execution: ExecutionContext,
  { spec, onFailure }: PlannedStep,
  { tries, error }: { readonly tries: number; readonly error: unknown },
): boolean {
  const isLastTry = spec.retryScope === 'tool' || tries > spec.retries
  return onFailure === 'continue' && isLastTry && mayPassOver(execution, error)
}

interface Carried {
  readonly step: PlannedStep
  readonly report: StepReport
  readonly thrown?: { readonly error: unknown }
}

async function carryStep(execution: ExecutionContext, step: PlannedStep): Promise<Carried> {
  const trace: CallTrace = { attempts: 0 }
  const report = reportOf(step)
  try {
    const result = (await runWithin(execution, () => callTool(execution, step.spec, step.args, trace))) as Json
    return { step, report: { ...report, ...told(trace), status: 'succeeded', result } }
  } catch (error) {
    const failed = { ...report, ...told(trace), status: statusOf(error), error: failureIn(error) }
    return { step, report: failed, thrown: { error } }
  }
}

/** The recorded facts of a call, in a fixed order. */
function told({ attempts, callId, startedAt, endedAt }: CallTrace): Omit<CallTrace, 'carriedOut'> {
  return {
    attempts,
    ...(callId !== undefined && { callId }),
    ...(startedAt !== undefined && { startedAt }),
    ...(endedAt !== undefined && { endedAt }),
  }
}

/** The failure of a step; for a call in doubt, the recorded reason. */
function failureIn(error: unknown): Failure {
  const reason = error instanceof InDoubt ? error.evidence.reason : undefined
  return typeof reason === 'string' ? { message: reason, code: 'outcome-unknown' } : failureOf(error)
}

/** The status of a step after an error. A tool whose result cannot be recorded has nevertheless done its work. */
function statusOf(error: unknown): StepReport['status'] {
  if (error instanceof InDoubt) return 'in-doubt'
  return error instanceof AgentError && error.code === 'result-not-recorded' ? 'succeeded' : 'failed'
}

function reportOf({ id, group, spec, args }: PlannedStep): StepReport {
  const recorded = recordable(args, undefined, CALL_VALUE)
  return {
    id,
    group: group + 1,
    tool: spec.name,
    args: recorded.ok ? recorded.value : null,
    status: 'not-run',
    attempts: 0,
  }
}

function resultOf(execution: ExecutionContext, inputs: { scope: string; tries: number; tried: Tried }): SagaResult {
  const { scope, tries, tried } = inputs
  const { steps, failure } = tried
  return {
    runId: execution.session.runId,
    scope,
    status: failure !== undefined ? 'COMPENSATED' : steps.every(isDone) ? 'SUCCESS' : 'PARTLY_SUCCEEDED',
    tries,
    ...timesOf(execution, steps),
    steps,
    ...(failure !== undefined && { error: failureOf(failure.error) }),
    ...NOTHING,
  }
}

/** Times come from the record, so that the document is always the same. */
function timesOf({ session }: ExecutionContext, steps: readonly StepReport[]): { startedAt: string; endedAt: string } {
  const times = steps.flatMap(({ startedAt, endedAt }) => [startedAt ?? [], endedAt ?? []].flat())
  if (times.length === 0) return { startedAt: session.startedAt, endedAt: session.startedAt }
  return { startedAt: [...times].sort()[0] ?? session.startedAt, endedAt: latest(times) }
}

/** RFC 3339 times in UTC sort as text. */
function latest(times: readonly string[]): string {
  return [...times].sort().at(-1) ?? ''
}

function isDone({ status }: StepReport): boolean {
  return status === 'succeeded'
}
