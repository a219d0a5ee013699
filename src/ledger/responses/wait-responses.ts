/** @module Answers about waits and signals: where a wait stands, and what became of a signal. */
import { type RunState, safeKey } from '../../../projections/run-state.ts'
import type { WaitState } from '../../../projections/wait-state.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import type { AnsweredEvent } from './response-parts.ts'

/** `signalAt`: where the signal stands that ended the wait. */
export interface WaitAnswer {
  readonly created: boolean
  readonly body: JsonObject
  readonly signalAt?: number
}

interface WaitContext {
  readonly events: readonly AnsweredEvent[]
  readonly state: RunState
}

/** The answer to whoever requested a wait, whatever of it is new; undefined for all other requests. */
export function waitedFor(main: AnsweredEvent, { events, state }: WaitContext): WaitAnswer | undefined {
  const { type, data } = main
  if (type !== 'WaitStarted' && type !== 'WaitEnded' && type !== 'SignalPassedOver') return undefined
  const wait = state.waits[safeKey(data.waitId)]
  if (wait === undefined) return undefined
  const { revision } = (events.at(-1) ?? main).header
  const place = { runId: state.runId, revision, digest: main.digest }
  return { ...waitAnswer(wait, place), created: events.some((event) => event.type === 'WaitStarted') }
}

/** Where a wait stands now. */
export function waitAnswer(wait: WaitState, place: JsonObject): WaitAnswer {
  const { waitId, status, name, until, signalId, signalRevision, revision } = wait
  const body = {
    ...{ ...place, waitId, status },
    ...(name === undefined ? {} : { name }),
    ...(until === undefined ? {} : { until }),
    ...(signalId === undefined ? {} : { signalId }),
    // A signal that was held ended the wait as it began.
    ...(signalRevision === undefined ? {} : { endRevision: Math.max(signalRevision, revision) }),
  }
  return { created: false, body, ...(signalRevision !== undefined && { signalAt: signalRevision }) }
}

/** `delivered`: it ended a wait. `held`: it is there for the next wait for it. */
export function signalBody({ data }: Extract<AnsweredEvent, { type: 'SignalReceived' }>): JsonObject {
  const { signalId, name, waitId } = data
  const delivery = waitId === undefined ? { status: 'held' } : { status: 'delivered', waitId }
  return { signalId, name, ...delivery }
}
