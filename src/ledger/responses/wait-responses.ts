/** @module Answers about waits and signals: the state of a wait, and the delivery of a signal. */
import { type RunState, safeKey } from '../../../projections/run-state.ts'
import type { WaitState } from '../../../projections/wait-state.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import type { AnsweredEvent } from './response-parts.ts'

/** `signalAt`: revision of the signal that ended the wait. */
export interface WaitAnswer {
  readonly created: boolean
  readonly body: JsonObject
  readonly signalAt?: number
}

interface WaitContext {
  readonly events: readonly AnsweredEvent[]
  readonly state: RunState
}

/** The answer to a request for a wait, whether the wait is new or not; undefined for all other requests. */
export function waitedFor(main: AnsweredEvent, { events, state }: WaitContext): WaitAnswer | undefined {
  const { type, data } = main
  if (type !== 'WaitStarted' && type !== 'WaitEnded' && type !== 'SignalPassedOver') return undefined
  const wait = state.waits[safeKey(data.waitId)]
  if (wait === undefined) return undefined
  const { revision } = (events.at(-1) ?? main).header
  const place = { runId: state.runId, revision, digest: main.digest }
  const { body, ...answer } = waitAnswer(wait, place)
  const unchecked = wait.status === 'waiting' ? heldFor(state, wait) : 0
  return {
    ...answer,
    body: { ...body, ...(unchecked > 0 && { unchecked }) },
    created: events.some((event) => event.type === 'WaitStarted'),
  }
}

/** Number of held signals of the name: one command checks so many of them against the schema of the wait, and the next one goes on. */
function heldFor({ heldSignals }: RunState, { name }: WaitState): number {
  return Object.values(heldSignals).filter((held) => held.name === name).length
}

/** The current state of a wait. */
export function waitAnswer(wait: WaitState, place: JsonObject): WaitAnswer {
  const { waitId, status, name, until, signalId, signalRevision, revision } = wait
  const body = {
    ...{ ...place, waitId, status },
    ...(name === undefined ? {} : { name }),
    ...(until === undefined ? {} : { until }),
    ...(signalId === undefined ? {} : { signalId }),
    // A held signal ended the wait when it began.
    ...(signalRevision === undefined ? {} : { endRevision: Math.max(signalRevision, revision) }),
  }
  return { created: false, body, ...(signalRevision !== undefined && { signalAt: signalRevision }) }
}

/** `delivered`: the signal ended a wait. `held`: the signal is kept for the next matching wait. */
export function signalBody({ data }: Extract<AnsweredEvent, { type: 'SignalReceived' }>): JsonObject {
  const { signalId, name, waitId } = data
  const delivery = waitId === undefined ? { status: 'held' } : { status: 'delivered', waitId }
  return { signalId, name, ...delivery }
}
