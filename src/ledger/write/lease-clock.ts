/**
 * @module How long each lease still lasts. The wall clock is asked once, when this process grants a lease or first meets one; from then
 * on a monotonic clock alone counts, so that a wall clock which is set forward or back neither ends a lease nor prolongs it (RUN-19). A lease
 * whose owner is provably gone has ended, whatever the clocks say (RUN-53).
 */
import { type CallState, type RunState, slot } from '../../../projections/run-state.ts'
import { LEASE_ENDED, leaseLeftByWall, openCalls } from '../../domain/lease.ts'
import { type SizedCache, textBytes } from '../../resources/sized-cache.ts'
import type { Effects } from '../ports.ts'
import type { RunAggregate } from './run-aggregate.ts'

/** Beside its text: three members of an object. */
const LEASE_BYTES = 64

export interface Lease {
  readonly fence: number
  readonly leaseUntil: string
  /** By the monotonic clock. */
  readonly endMs: number
}

export class LeaseClock {
  readonly #effects: Pick<Effects, 'nowMs' | 'monotonicMs'>
  /** By the id of the call, which is unique among all ledgers. What falls out is judged by the wall clock again. */
  readonly #leases: SizedCache<Lease>

  readonly #isOwnerGone: (owner: string) => boolean

  constructor(
    effects: Pick<Effects, 'nowMs' | 'monotonicMs'>,
    leases: SizedCache<Lease>,
    isOwnerGone: (owner: string) => boolean = () => false,
  ) {
    this.#effects = effects
    this.#leases = leases
    this.#isOwnerGone = isOwnerGone
  }

  /** Milliseconds that are left of a claimed call's lease; below zero once it is over. */
  readonly leftMs = (call: CallState, state: RunState): number => {
    if (call.takenOver === true || (call.owner !== undefined && this.#isOwnerGone(call.owner))) return LEASE_ENDED
    const nowMs = this.#effects.monotonicMs()
    const known = this.#leases.get(call.callId)
    if (known?.fence === call.fence && known.leaseUntil === call.leaseUntil) return known.endMs - nowMs
    // Nobody was granted more than its length, whatever the clocks of then and now say.
    const leftMs = Math.min(call.leaseMs, leaseLeftByWall(call, state, this.#effects.nowMs()))
    this.#keep(call, nowMs + leftMs)
    return leftMs
  }

  /** A run was loaded: what other processes granted counts from here. */
  loaded({ state }: RunAggregate): void {
    if (state !== undefined)
      for (const call of openCalls(state)) if (call.status === 'claimed') this.leftMs(call, state)
  }

  /** An event of this call was decided here and folded: a lease that it granted lasts its whole length. */
  decided({ state }: RunAggregate, callId: string): void {
    const call = state?.calls[slot(callId)]
    if (call?.status !== 'claimed') {
      this.#leases.delete(callId)
      return
    }
    const known = this.#leases.get(callId)
    if (known?.fence === call.fence && known.leaseUntil === call.leaseUntil) return
    this.#keep(call, this.#effects.monotonicMs() + call.leaseMs)
  }

  #keep({ callId, fence, leaseUntil }: CallState, endMs: number): void {
    this.#leases.set(callId, { fence, leaseUntil, endMs }, LEASE_BYTES + textBytes(leaseUntil))
  }
}
