/** @module A saga that is a run: the run ends as the saga does. */
import { AgentError } from '../errors.ts'
import { RecordedHistory } from '../history/recorded-history.ts'
import { readRun } from '../history/recorded-run.ts'
import type { ExecutionContext } from '../runtime/execution-context.ts'
import { currentExecution } from '../runtime/execution-context.ts'
import { type Home, liveRun, type RunRequest } from '../runtime/live-run.ts'
import { Session } from '../runtime/session.ts'
import { outcomeIn, outcomeOf } from './outcome.ts'
import { carryRunSaga, withRollback } from './saga.ts'
import { SagaFailed, type SagaResult } from './saga-result.ts'
import { planSaga, type SagaSteps } from './saga-steps.ts'

/** A run that has already ended returns its document again. Throws `invalid-saga`, `unknown-tool`, and errors that keep the run from ending. */
export async function runSaga(home: Home, steps: SagaSteps, request: RunRequest<unknown>): Promise<SagaResult> {
  planSaga(steps, home.registry)
  try {
    const options = { name: 'saga', ...request.options }
    return await liveRun(home, { ...request, options }, () => carryRunSaga(bodyPlace(), steps))
  } catch (error) {
    const outcome = outcomeOf(error)
    if (error instanceof SagaFailed && outcome !== undefined && outcome.status !== 'OPEN') {
      return withRollback(error.result, outcome)
    }
    if (error instanceof AgentError && error.code === 'run-rolled-back')
      return recordedSaga(home, steps, String(error.evidence.runId))
    throw error instanceof SagaFailed ? error.cause : error
  }
}

function bodyPlace(): ExecutionContext {
  const execution = currentExecution()
  if (execution === undefined) throw new TypeError('the body of a run has a place')
  return execution
}

/** The document of a saga that was rolled back in an earlier execution. */
async function recordedSaga({ connection, registry }: Home, steps: SagaSteps, runId: string): Promise<SagaResult> {
  const record = await readRun(connection.events(runId))
  const session = new Session({ runId, registry, history: new RecordedHistory(record, 'replay-diverged') })
  try {
    return await carryRunSaga({ session, dedupe: 'args', ancestors: [] }, steps, true)
  } catch (error) {
    if (error instanceof SagaFailed) return withRollback(error.result, outcomeIn(record, runId))
    throw error
  }
}
