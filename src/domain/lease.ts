/** @module Expired leases: the next decision that finds one ends it with an event (STR-2). */
import type { CallState, RunState } from '../../projections/run-state.ts'
import { DEADLINE_GRACE_MS, type Draft, type Env, nowMsOf } from './decision.ts'

/** A call with the event that now decides its outcome, which is not folded yet. */
export interface PendingOutcome {
  readonly call: CallState
  readonly draft: Draft
}

/** The remaining time of a lease whose owner is gone or was taken over. */
export const LEASE_ENDED = Number.NEGATIVE_INFINITY

/** The event that ends a lease, because its deadline has passed or because its owner is gone or was taken over. */
export function leaseExpired(call: CallState, state: RunState, env: Pick<Env, 'leaseLeftMs'>): Draft {
  const { callId, fence } = call
  const ended = env.leaseLeftMs(call, state) === LEASE_ENDED
  const cause = ended ? (call.takenOver === true ? 'taken-over' : 'owner-gone') : 'lease-expired'
  if (call.compensates !== undefined) {
    return {
      type: 'CompensationInDoubt',
      data: { v: 1, callId, fence, cause, compensates: call.compensates },
    }
  }
  return { type: 'ToolCallInDoubt', data: { v: 1, callId, fence, cause } }
}

/** Whether the call is claimed and its deadline, plus the grace, has passed. */
export function isLeaseOver(call: CallState, state: RunState, env: Pick<Env, 'leaseLeftMs'>): boolean {
  return call.status === 'claimed' && env.leaseLeftMs(call, state) < -DEADLINE_GRACE_MS
}

/** Milliseconds left of a lease by the wall clock alone, for a process that did not grant the lease itself. */
export function leaseLeftByWall(call: CallState, state: RunState, nowMs: number): number {
  return Date.parse(call.leaseUntil) - nowMsOf(state, { nowMs })
}

/** Milliseconds left until a reservation's deadline, by the wall clock alone. */
export function reservationLeftByWall(deadline: string, state: RunState, nowMs: number): number {
  return Date.parse(deadline) - nowMsOf(state, { nowMs })
}

/** Every call whose lease has expired, with the event that ends the lease. */
export function leasesOver(state: RunState, env: Env): PendingOutcome[] {
  return openCalls(state)
    .filter((call) => isLeaseOver(call, state, env))
    .map((call) => ({ call, draft: leaseExpired(call, state, env) }))
}

/** Calls that are claimed or in doubt. */
export function openCalls(state: RunState): CallState[] {
  return Object.keys(state.openCalls).flatMap((key) => state.calls[key] ?? [])
}
