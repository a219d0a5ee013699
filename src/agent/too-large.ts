/** @module What ends the code of a run and is no reason to undo it; above all what is too large for the record: the code is told, and may go on with less (RUN-181). */
import { isJsonObject, type JsonObject } from '../../schemas/json.ts'
import type { Failure } from '../../schemas/values.ts'
import { AgentError, failureOf, RecordedFailure } from './errors.ts'
import { ForkFailed } from './fork/fork-types.ts'
import { ApprovalDenied, ResultTooLarge } from './loop/tool-error.ts'
import { SagaFailed } from './saga/saga-result.ts'
import { causeOf } from './thrown.ts'

/** What the ledger says of what is only too much. */
export const TOO_LARGE: ReadonlySet<string> = new Set([
  'append-too-large',
  'body-too-large',
  'context-too-large',
  'redaction-too-large',
  'value-too-large',
])

const CAUSES_MAX = 5

export function isTooLarge(error: unknown): boolean {
  return error instanceof ResultTooLarge || (error instanceof AgentError && TOO_LARGE.has(error.code))
}

const RESULT = 'ResultTooLarge'
const OF_THE_RECORD: ReadonlySet<unknown> = new Set(['AgentError', 'LedgerRefused', RESULT])

/** What the record keeps of it where it ended a branch: a result is told from a failure of a tool's own. */
export function tooLargeFailure(error: unknown): Failure {
  const failure = failureOf(error)
  return error instanceof ResultTooLarge ? { ...failure, code: 'value-too-large', details: { name: RESULT } } : failure
}

/** Whether it was that. */
export function wasTooLarge(failure: Failure | undefined): boolean {
  const { code = '', details = null } = failure ?? {}
  return TOO_LARGE.has(code) && isJsonObject(details) && OF_THE_RECORD.has(details.name)
}

/**
 * Whether what the code of a run ended with is no reason to undo it: something is too large for the record, or nobody decided on a call in time (RUN-182).
 * Libraries wrap what they are thrown. What a tool has failed with is its failure, and that of a step is its saga's.
 */
export function leavesOpen(error: unknown): boolean {
  let cause: unknown = error
  for (let depth = 0; depth < CAUSES_MAX && cause instanceof Error; depth += 1) {
    if (cause instanceof RecordedFailure || cause instanceof SagaFailed) return false
    if (cause instanceof ForkFailed && cause.receipts.some(({ error }) => wasTooLarge(error))) return true
    if (isTooLarge(cause) || (cause instanceof ApprovalDenied && cause.code === 'approval-expired')) return true
    cause = causeOf(cause)
  }
  return false
}

/** Of a value that the record does not take: `subject cannot be recorded: reason`, with the code of what is only too much. */
export function notRecordable(
  subject: string,
  { reason, tooLarge }: { readonly reason: string; readonly tooLarge?: true },
  {
    code = 'value-too-large',
    ...evidence
  }: JsonObject & { readonly code?: 'value-too-large' | 'context-too-large' } = {},
): AgentError {
  const message = `${subject} cannot be recorded: ${reason}`
  if (tooLarge !== true) return new AgentError('not-recordable', message, evidence)
  return new AgentError(code, `${message}; hand over less, or where it is kept`, evidence)
}

/** Of the output of a run, whose code has ended. */
export function outputTooLarge(runId: string, reason: string, cause?: Error): AgentError {
  const message = `the output of the run ${runId} is too large to be recorded (${reason}): nothing was undone, and the run is open; let it give less, or where that is kept, or let the ledger take more (value-max-bytes), and start it again by its id`
  return new AgentError('value-too-large', message, { runId, reason }, { cause })
}
