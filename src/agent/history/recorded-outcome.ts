/** @module The outcome of a call, read from its recorded events. */
import type { EventBody, RunEventType } from '../../../schemas/events.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { lacks } from '../../../schemas/redacted-parts.ts'
import type { Failure, ValueRef } from '../../../schemas/values.ts'

export type RecordedOutcome =
  | {
      readonly kind: 'succeeded'
      readonly result: Json
      /** Replaces the result if that is stored outside the events, or not at all. */
      readonly resultRef?: ValueRef
      /** The redaction policy removed part of the result. */
      readonly redacted?: true
      readonly unrecorded?: { readonly reason: string; readonly answered?: true | undefined }
    }
  | { readonly kind: 'failed'; readonly error: Failure }
  /** `seen`: the process that made the call reported it, and the code saw it as a failure; otherwise the process had died. */
  | { readonly kind: 'unknown'; readonly seen: boolean; readonly reason: string }
  /** A person or a check found that the call was not executed. */
  | { readonly kind: 'not-executed'; readonly seen: boolean; readonly reason: string }

type Before = RecordedOutcome | undefined
type OutcomeOf<T extends RunEventType> = (data: EventBody<T>, before: Before) => RecordedOutcome

const OUTCOMES = {
  ToolCallSucceeded: succeeded,
  CompensationSucceeded: succeeded,
  ToolCallFailed: ({ error }) => ({ kind: 'failed', error }),
  CompensationFailed: ({ error }) => ({ kind: 'failed', error }),
  ToolCallInDoubt: unknown,
  CompensationInDoubt: unknown,
  ToolCallResolved: ({ outcome, result = null, resultRef, redacted }, before) => {
    const redactedPart = lacks(redacted, 'result') && { redacted: true as const }
    if (outcome !== 'not-executed')
      return { kind: 'succeeded', result, ...(resultRef && { resultRef }), ...redactedPart }
    return before?.kind === 'unknown'
      ? { ...before, kind: 'not-executed' }
      : { kind: 'not-executed', seen: false, reason: 'it was not executed' }
  },
} satisfies { readonly [T in RunEventType]?: OutcomeOf<T> }

type OutcomeType = keyof typeof OUTCOMES
export const OUTCOME_TYPES = Object.keys(OUTCOMES) as readonly OutcomeType[]

export function isOutcome(type: string): type is OutcomeType {
  return Object.hasOwn(OUTCOMES, type)
}

/** `before` is the known outcome of the same attempt. Returns undefined for an event that is not an outcome. */
export function outcomeOf(type: string, data: JsonObject, before: Before): RecordedOutcome | undefined {
  if (!isOutcome(type)) return undefined
  // The table pairs each type with its own body.
  const outcome = OUTCOMES[type] as unknown as (data: JsonObject, before: Before) => RecordedOutcome
  return outcome(data, before)
}

function succeeded({
  result = null,
  resultRef,
  unrecorded,
  redacted,
}: EventBody<'ToolCallSucceeded'>): RecordedOutcome {
  const redactedPart = unrecorded === undefined && lacks(redacted, 'result') && { redacted: true as const }
  return {
    kind: 'succeeded',
    result,
    ...(resultRef && { resultRef }),
    ...(unrecorded && { unrecorded }),
    ...redactedPart,
  }
}

function unknown({ cause, reason }: EventBody<'ToolCallInDoubt'>): RecordedOutcome {
  return { kind: 'unknown', seen: cause === 'outcome-unknown', reason: reason ?? 'the outcome is not known' }
}
