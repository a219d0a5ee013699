/** @module Leases that are over: found by whoever decides, and ended by an event (STR-2). */
import type { CallState, RunState } from '../../projections/run-state.ts'
import { type Draft, type Env, isPast } from './decision.ts'

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

/** Claimed, and past its deadline. */
export function isLeaseOver(call: CallState, state: RunState, env: Pick<Env, 'nowMs'>): boolean {
  return call.status === 'claimed' && isPast(call.leaseUntil, state, env)
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
