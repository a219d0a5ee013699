/** @module The snapshot documents of a run's state: written by the ledger, rebuilt and compared by replay (STR-10). */
import type { EventBody } from '../schemas/events.ts'
import {
  HANDOFF_SNAPSHOT_VERSION,
  type HandoffSnapshot,
  SNAPSHOT_OPEN_MAX,
  SNAPSHOT_VERSION,
  type Snapshot,
} from '../schemas/snapshot.ts'
import { envelopeCharge } from './run-budget.ts'
import type { RunState } from './run-state.ts'

/** As 0.1.0 wrote it behind a handoff. */
export function snapshotOf(state: RunState): Snapshot {
  return {
    v: SNAPSHOT_VERSION,
    step: state.lineage.at(-1)?.step ?? 0,
    context: state.contextDigest,
    budget: { ...state.spend },
    openCalls: Object.keys(state.openCalls).flatMap((key) => openCall(state, key)),
    openReservations: Object.keys(state.openReservations).flatMap((key) => openReservation(state, key)),
  }
}

/** What a handoff holds: the run as the handoff leaves it. `before` is the state that it is about to be folded into. */
export function handoffSnapshot(
  before: RunState,
  handoff: Pick<EventBody<'EnvelopeAccepted'>, 'step' | 'context' | 'agent' | 'tokens'>,
): HandoffSnapshot {
  const { tokens } = before.spend
  return {
    v: HANDOFF_SNAPSHOT_VERSION,
    step: handoff.step,
    context: handoff.context,
    budget: { ...before.spend, tokens: tokens + envelopeCharge(before, handoff) },
    ...openWork(before),
  }
}

/** The same document of the state that the handoff led to. */
export function snapshotAfterHandoff(state: RunState): HandoffSnapshot {
  return {
    v: HANDOFF_SNAPSHOT_VERSION,
    step: state.lineage.at(-1)?.step ?? 0,
    context: state.contextDigest,
    budget: { ...state.spend },
    ...openWork(state),
  }
}

function openWork(
  state: RunState,
): Pick<HandoffSnapshot, 'openCalls' | 'openCallsTotal' | 'openReservations' | 'openReservationsTotal'> {
  const [calls, reservations] = [Object.keys(state.openCalls), Object.keys(state.openReservations)]
  return {
    openCalls: calls.slice(0, SNAPSHOT_OPEN_MAX).flatMap((key) => openCall(state, key)),
    ...(calls.length > SNAPSHOT_OPEN_MAX && { openCallsTotal: calls.length }),
    openReservations: reservations.slice(0, SNAPSHOT_OPEN_MAX).flatMap((key) => openReservation(state, key)),
    ...(reservations.length > SNAPSHOT_OPEN_MAX && { openReservationsTotal: reservations.length }),
  }
}

function openCall(state: RunState, key: string): Snapshot['openCalls'] {
  const call = state.calls[key]
  if (call === undefined || (call.status !== 'claimed' && call.status !== 'in-doubt')) return []
  return [{ callId: call.callId, tool: call.tool, status: call.status, fence: call.fence }]
}

function openReservation(state: RunState, key: string): Snapshot['openReservations'] {
  const reservation = state.reservations[key]
  if (reservation === undefined) return []
  const { reservationId, agent, tokens, cost } = reservation
  return [{ reservationId, agent, tokens, cost }]
}
