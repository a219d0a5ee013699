/**
 * @module Disclosure of a run's keys (SEAL-13): only after the run has ended, recorded before the keys are released, and final. A holder
 * of the keys can seal events of the run, so an event after RunKeyDisclosed could not be told from a forged one.
 */
import type { RunState } from '../../projections/run-state.ts'
import { append, type Decision, refuse } from './decision.ts'
import { openCalls } from './lease.ts'
import { refusal } from './refusal.ts'

export function decideDisclosure(state: RunState): Decision {
  if (state.disclosed === true) return { kind: 'as-is' }
  const calls = openCalls(state).map(({ callId }) => callId)
  const reservations = Object.keys(state.openReservations).map((name) => name.slice(1))
  if (state.status === 'open' || calls.length + reservations.length > 0) {
    const detail =
      'the keys of a run are disclosed after its end, when nothing is left to record: complete or fail it, settle its open calls and reservations'
    return refuse(refusal('open-work', detail, { evidence: { status: state.status, calls, reservations } }))
  }
  return append({ type: 'RunKeyDisclosed', data: { v: 1 } })
}

/** Makes a decision append nothing: one that would append becomes a refusal. For runs whose keys were disclosed. */
export function withoutAppend(decision: Decision): Decision {
  if (decision.kind === 'refuse') return refuse(decision.refusal)
  if (decision.kind !== 'append') return decision
  return refuse(refusal('run-ended', 'the keys of this run were disclosed: nothing may be added to it'))
}
