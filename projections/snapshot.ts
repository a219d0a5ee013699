/** @module The snapshot document of a run's state: written by the ledger, rebuilt and compared by replay. */
import { SNAPSHOT_VERSION, type Snapshot } from '../schemas/snapshot.ts'
import type { RunState } from './run-state.ts'

export function snapshotOf(state: RunState): Snapshot {
  return {
    v: SNAPSHOT_VERSION,
    step: state.lineage.at(-1)?.step ?? 0,
    context: state.contextDigest,
    budget: { ...state.spend },
    openCalls: openCalls(state),
    openReservations: openReservations(state),
  }
}

function openCalls(state: RunState): Snapshot['openCalls'] {
  return Object.keys(state.openCalls).flatMap((key) => {
    const call = state.calls[key]
    if (call === undefined || (call.status !== 'claimed' && call.status !== 'in-doubt')) return []
    return [{ callId: call.callId, tool: call.tool, status: call.status, fence: call.fence }]
  })
}

function openReservations(state: RunState): Snapshot['openReservations'] {
  return Object.keys(state.openReservations).flatMap((key) => {
    const reservation = state.reservations[key]
    if (reservation === undefined) return []
    const { reservationId, agent, tokens, cost } = reservation
    return [{ reservationId, agent, tokens, cost }]
  })
}
