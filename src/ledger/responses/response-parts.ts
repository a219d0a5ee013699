/** @module The parts of which every answer is made. */
import type { RecordedEvent } from '../../../projections/projection.ts'
import type { CallState } from '../../../projections/run-state.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import type { Refusal } from '../../domain/refusal.ts'

/** An event of a request, with its digest. */
export type AnsweredEvent = RecordedEvent & { readonly digest: string }

export type CommandResponse =
  /**
   * `plan`: the actions of a rollback, whose arguments and results are read and added. `signalAt`: revision of the signal that ended a wait, whose
   * payload is read and added.
   */
  | {
      readonly kind: 'body'
      readonly created: boolean
      readonly body: JsonObject
      readonly plan?: readonly (readonly CallState[])[]
      readonly signalAt?: number
    }
  | {
      readonly kind: 'refusal'
      readonly refusal: Refusal
      /** Revision of the envelope that a refused handoff restored; its payload is read and added. */
      readonly restored?: { readonly revision: number; readonly body: JsonObject }
    }

/** The answer, with the redacted parts of the events. */
export function withRedacted(answer: CommandResponse, events: readonly AnsweredEvent[]): CommandResponse {
  if (answer.kind !== 'body') return answer
  for (const { data } of events) {
    const redacted = 'redacted' in data ? (data.redacted as JsonObject | undefined) : undefined
    if (redacted !== undefined) return { ...answer, body: { ...answer.body, redacted } }
  }
  return answer
}
