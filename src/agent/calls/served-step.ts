/** @module Converts the recorded outcome of a call to a step of `OneCall`. */
import type { Json, JsonObject } from '../../../schemas/json.ts'
import type { Failure } from '../../../schemas/values.ts'
import { AgentError, RecordedFailure } from '../errors.ts'
import type { RecordedOutcome } from '../history/recorded-outcome.ts'
import { ResultTooLarge } from '../loop/tool-error.ts'
import { textOf } from '../runtime/session.ts'
import type { RecordedResult } from './recorded-result.ts'

/** The result of one lookup or one attempt. */
export type Step =
  | { readonly kind: 'value'; readonly value: Json }
  /** A success whose value is stored outside the events, or not recorded. */
  | { readonly kind: 'kept'; readonly call: RecordedResult }
  /** `failure`: the recorded failure, from which the caller's error is built; if absent, `error` is thrown as is. */
  | { readonly kind: 'failed'; readonly error: unknown; readonly failure?: Failure; readonly live: boolean }
  | { readonly kind: 'again' }

export function servedStep(
  outcome: Extract<RecordedOutcome, { kind: 'succeeded' | 'failed' }>,
  call: { tool: string; callId: string; runId: string },
): Step {
  if (outcome.kind === 'failed')
    return { kind: 'failed', error: new RecordedFailure(outcome.error), failure: outcome.error, live: false }
  const { unrecorded, resultRef: ref } = outcome
  if (unrecorded?.answered === true)
    return { kind: 'failed', error: new ResultTooLarge(call.tool, unrecorded.reason), live: false }
  if (unrecorded !== undefined) throw resultNotRecorded(call.tool, call.callId, unrecorded.reason)
  if (outcome.redacted === true) return { kind: 'kept', call: { callId: call.callId } }
  if (ref !== undefined) return { kind: 'kept', call: { callId: call.callId, runId: call.runId, ref } }
  return { kind: 'value', value: outcome.result }
}

export function resultNotRecorded(tool: string, callId: string, reason: string): AgentError {
  const message = `${tool} ran, but its result cannot be recorded (${reason}): the run is rolled back`
  return new AgentError('result-not-recorded', message, { tool, callId, reason })
}

/** The step for a claim whose call already has a result. */
export function succeededStep(body: JsonObject, call: { tool: string; runId: string }): Step {
  const { resultRef, unrecorded, result = null } = body
  const outcome = { kind: 'succeeded', result, resultRef, unrecorded }
  return servedStep(outcome as unknown as Parameters<typeof servedStep>[0], { ...call, callId: textOf(body, 'callId') })
}
