/** @module Leases that are over: found by whoever decides, and ended by an event (STR-2). */
import type { CallState, RunState } from '../../projections/run-state.ts'
import { DEADLINE_GRACE_MS, type Draft, type Env, nowMsOf } from './decision.ts'

/** A call with the event that decides its outcome now: not folded yet. */
export interface PendingOutcome {
  readonly call: CallState
  readonly draft: Draft
}

/** What is left of a lease whose owner is gone, or was taken over. */
export const LEASE_ENDED = Number.NEGATIVE_INFINITY

/** The event that ends a lease past its deadline, or before it. */
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

/** Claimed, and past its deadline, less the grace. */
export function isLeaseOver(call: CallState, state: RunState, env: Pick<Env, 'leaseLeftMs'>): boolean {
  return call.status === 'claimed' && env.leaseLeftMs(call, state) < -DEADLINE_GRACE_MS
}

/** What is left of a lease by the wall clock alone: all that a process knows of one which it did not see granted. */
export function leaseLeftByWall(call: CallState, state: RunState, nowMs: number): number {
  return Date.parse(call.leaseUntil) - nowMsOf(state, { nowMs })
}

/** The same of a reservation's deadline. */
export function reservationLeftByWall(deadline: string, state: RunState, nowMs: number): number {
  return Date.parse(deadline) - nowMsOf(state, { nowMs })
}

/** Every call whose lease is over, with the event that ends it. */
export function leasesOver(state: RunState, env: Env): PendingOutcome[] {
  return openCalls(state)
    .filter((call) => isLeaseOver(call, state, env))
    .map((call) => ({ call, draft: leaseExpired(call, state, env) }))
}

/** Calls claimed or in doubt. */
export function openCalls(state: RunState): CallState[] {
  return Object.keys(state.openCalls).flatMap((key) => state.calls[key] ?? [])
}
