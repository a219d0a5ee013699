/** @module Leases that are over: found by whoever decides, and ended by an event (STR-2). */
import type { CallState, RunState } from '../../projections/run-state.ts'
import { DEADLINE_GRACE_MS, type Draft, type Env, nowMsOf } from './decision.ts'

/** A call with the event that decides its outcome now: not folded yet. */
export interface OutcomeInHand {
  readonly call: CallState
  readonly draft: Draft
}

/** The event that ends a lease past its deadline. */
export function leaseExpired(call: CallState): Draft {
  const { callId, fence } = call
  if (call.compensates !== undefined) {
    return {
      type: 'CompensationInDoubt',
      data: { v: 1, callId, fence, cause: 'lease-expired', compensates: call.compensates },
    }
  }
  return { type: 'ToolCallInDoubt', data: { v: 1, callId, fence, cause: 'lease-expired' } }
}

/** Claimed, and past its deadline, less the grace. */
export function isLeaseOver(call: CallState, state: RunState, env: Pick<Env, 'leaseLeftMs'>): boolean {
  return call.status === 'claimed' && env.leaseLeftMs(call, state) < -DEADLINE_GRACE_MS
}

/** What is left of a lease by the wall clock alone: all that a process knows of one which it did not see granted. */
export function leaseLeftByWall(call: CallState, state: RunState, nowMs: number): number {
  return Date.parse(call.leaseUntil) - nowMsOf(state, { nowMs })
}

/** Every call whose lease is over, with the event that ends it. */
export function leasesOver(state: RunState, env: Env): OutcomeInHand[] {
  return openCalls(state)
    .filter((call) => isLeaseOver(call, state, env))
    .map((call) => ({ call, draft: leaseExpired(call) }))
}

/** Calls claimed or in doubt. */
export function openCalls(state: RunState): CallState[] {
  return Object.keys(state.openCalls).flatMap((key) => state.calls[key] ?? [])
}
