/** @module What a look at a call came to, and what the record serves of one. */
import type { Json } from '../../../schemas/json.ts'
import { AgentError, RecordedFailure } from '../errors.ts'
import type { RecordedOutcome } from '../history/recorded-outcome.ts'

/** What one look or one attempt came to. */
export type Step =
  | { readonly kind: 'value'; readonly value: Json }
  | { readonly kind: 'failed'; readonly error: unknown; readonly live: boolean }
  | { readonly kind: 'again' }

export function servedStep(
  outcome: Extract<RecordedOutcome, { kind: 'succeeded' | 'failed' }>,
  call: { tool: string; callId: string },
): Step {
  if (outcome.kind === 'failed') return { kind: 'failed', error: new RecordedFailure(outcome.error), live: false }
  if (outcome.unrecorded !== undefined) throw resultNotRecorded(call.tool, call.callId, outcome.unrecorded)
  return { kind: 'value', value: outcome.result }
}

export function resultNotRecorded(tool: string, callId: string, reason: string): AgentError {
  const message = `${tool} ran, but its result cannot be recorded (${reason}): the run is rolled back`
  return new AgentError('result-not-recorded', message, { tool, callId, reason })
}
