/** @module Converts the recorded outcome of a call to a step of `OneCall`. */
import type { Json, JsonObject } from '../../../schemas/json.ts'
import type { Failure } from '../../../schemas/values.ts'
import { AgentError, RecordedFailure } from '../errors.ts'
import type { RecordedOutcome } from '../history/recorded-outcome.ts'
import { ResultTooLarge } from '../loop/tool-error.ts'
import { type Session, textOf } from '../runtime/session.ts'
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
  session: Session,
  outcome: Extract<RecordedOutcome, { kind: 'succeeded' | 'failed' }>,
  call: { tool: string; callId: string; runId: string },
): Step {
  if (outcome.kind === 'failed')
    return { kind: 'failed', error: new RecordedFailure(outcome.error), failure: outcome.error, live: false }
  const { unrecorded, resultRef: ref } = outcome
  if (unrecorded?.answered === true)
    return { kind: 'failed', error: new ResultTooLarge(call.tool, unrecorded.reason), live: false }
  if (unrecorded !== undefined) throw resultNotRecorded(session, { ...call, reason: unrecorded.reason })
  if (outcome.redacted === true) return { kind: 'kept', call: { callId: call.callId } }
  if (ref !== undefined) return { kind: 'kept', call: { callId: call.callId, runId: call.runId, ref } }
  return { kind: 'value', value: outcome.result }
}

/** The run is rolled back for it, live as on a resume and a replay (RUN-11). */
export function resultNotRecorded(
  session: Session,
  { tool, callId, reason }: { readonly tool: string; readonly callId: string; readonly reason: string },
): AgentError {
  const message = `${tool} ran, but its result cannot be recorded (${reason}): the run is rolled back`
  return session.failing(new AgentError('result-not-recorded', message, { tool, callId, reason }))
}

/** The step for a claim whose call already has a result. */
export function succeededStep(session: Session, body: JsonObject, tool: string): Step {
  const { resultRef, unrecorded, result = null } = body
  const outcome = { kind: 'succeeded', result, resultRef, unrecorded }
  const call = { tool, callId: textOf(body, 'callId'), runId: session.runId }
  return servedStep(session, outcome as unknown as Parameters<typeof servedStep>[1], call)
}
