/** @module What became of a call, as its outcome on record says it. */
import type { EventBody, RunEventType } from '../../../schemas/events.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { lacks } from '../../../schemas/redacted-parts.ts'
import type { Failure, ValueRef } from '../../../schemas/values.ts'

export type RecordedOutcome =
  | {
      readonly kind: 'succeeded'
      readonly result: Json
      /** In place of the result, where that is stored beside the events, or nowhere. */
      readonly resultRef?: ValueRef
      /** Some of the result was left out by the policy. */
      readonly redacted?: true
      readonly unrecorded?: { readonly reason: string; readonly answered?: true | undefined }
    }
  | { readonly kind: 'failed'; readonly error: Failure }
  /** `seen`: its own process reported it, and the code of that time saw it as a failure; else the process was gone. */
  | { readonly kind: 'unknown'; readonly seen: boolean; readonly reason: string }
  /** Somebody looked: it was not executed. */
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

/** `before` is what was known of the same attempt. Undefined for an event that is no outcome. */
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
