/**
 * @module Errors that end the code of a run without undoing the run, above all values too large to record: the code gets the error and may retry with less
 * (RUN-181).
 */
import { isJsonObject, type JsonObject } from '../../schemas/json.ts'
import type { Failure } from '../../schemas/values.ts'
import { AgentError, failureOf, RecordedFailure } from './errors.ts'
import { ForkFailed } from './fork/fork-types.ts'
import { ApprovalDenied, ResultTooLarge } from './loop/tool-error.ts'
import { SagaFailed } from './saga/saga-result.ts'
import { causesOf } from './thrown.ts'

/** Refusal codes of the ledger for content that exceeds a size limit. */
export const TOO_LARGE: ReadonlySet<string> = new Set([
  'append-too-large',
  'body-too-large',
  'context-too-large',
  'redaction-too-large',
  'value-too-large',
])

export function isTooLarge(error: unknown): boolean {
  return error instanceof ResultTooLarge || (error instanceof AgentError && TOO_LARGE.has(error.code))
}

const RESULT = 'ResultTooLarge'
const OF_THE_RECORD: ReadonlySet<unknown> = new Set(['AgentError', 'LedgerRefused', RESULT])

/** The recorded failure of a branch that ended with this error. The name `ResultTooLarge` distinguishes an oversized result from a tool's own failure. */
export function tooLargeFailure(error: unknown): Failure {
  const failure = failureOf(error)
  return error instanceof ResultTooLarge ? { ...failure, code: 'value-too-large', details: { name: RESULT } } : failure
}

/** Whether a recorded failure is one from `tooLargeFailure`. */
export function wasTooLarge(failure: Failure | undefined): boolean {
  const { code = '', details = null } = failure ?? {}
  return TOO_LARGE.has(code) && isJsonObject(details) && OF_THE_RECORD.has(details.name)
}

/**
 * Whether the error that ended the code of a run is no reason to undo it: something is too large to record, or an approval expired undecided (RUN-182). The
 * recorded failure of a tool never counts, nor does that of a saga.
 */
export function leavesOpen(error: unknown): boolean {
  for (const cause of causesOf(error)) {
    if (cause instanceof RecordedFailure || cause instanceof SagaFailed) return false
    if (cause instanceof ForkFailed && cause.receipts.some(({ error }) => wasTooLarge(error))) return true
    if (isTooLarge(cause) || (cause instanceof ApprovalDenied && cause.code === 'approval-expired')) return true
  }
  return false
}

/** The error for a value that cannot be recorded: `subject cannot be recorded: reason`. An oversized value gets the given `code`. */
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

/** The error for an oversized output of a run whose code has ended. */
export function outputTooLarge(runId: string, reason: string, cause?: Error): AgentError {
  const message = `the output of the run ${runId} is too large to be recorded (${reason}): nothing was undone, and the run is open; let it give less, or where that is kept, or let the ledger take more (value-max-bytes), and start it again by its id`
  return new AgentError('value-too-large', message, { runId, reason }, { cause })
}
