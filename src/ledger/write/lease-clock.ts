/**
 * @module Measures how long each lease and each reservation still lasts. The wall clock is read once, when this process grants one or first sees one;
 * from then on only a monotonic clock counts, so that setting the wall clock neither ends nor extends any (RUN-19). A lease whose owner is provably
 * gone has ended, regardless of the clocks (RUN-53).
 */
import { type CallState, type ReservationState, type RunState, safeKey } from '../../../projections/run-state.ts'
import { RESERVATION_DEADLINE_MAX_MS } from '../../../schemas/value-forms.ts'
import { LEASE_ENDED, leaseLeftByWall, openCalls, reservationLeftByWall } from '../../domain/lease.ts'
import { type SizedCache, textBytes } from '../../resources/sized-cache.ts'
import type { Effects } from '../ports.ts'
import type { RunAggregate } from './run-aggregate.ts'

/** Size in bytes without its text: an object with three members. */
const TERM_BYTES = 64
/** Reservations have no fencing token, because each is granted only once. */
const NO_FENCE = 0

/** A grant with its end, by the wall clock as text and by the monotonic clock. */
export interface Term {
  readonly fence: number
  readonly until: string
  readonly endMs: number
}

export class LeaseClock {
  readonly #effects: Pick<Effects, 'nowMs' | 'monotonicMs'>
  /** By the id of the call or the reservation, which is unique across ledgers. An evicted term is judged by the wall clock again. */
  readonly #terms: SizedCache<Term>

  readonly #isOwnerGone: (owner: string) => boolean

  constructor(
    effects: Pick<Effects, 'nowMs' | 'monotonicMs'>,
    terms: SizedCache<Term>,
    isOwnerGone: (owner: string) => boolean = () => false,
  ) {
    this.#effects = effects
    this.#terms = terms
    this.#isOwnerGone = isOwnerGone
  }

  /** Milliseconds left of the lease of a claimed call; negative once it has ended. */
  readonly leftMs = (call: CallState, state: RunState): number => {
    if (call.takenOver === true || (call.owner !== undefined && this.#isOwnerGone(call.owner))) return LEASE_ENDED
    const { callId, fence, leaseUntil } = call
    // A lease never lasts longer than its length, whatever the clocks said at the grant and say now.
    const byWall = (): number => leaseLeftByWall(call, state, this.#effects.nowMs())
    return (
      this.#remaining(callId, fence, leaseUntil) ?? this.#met(callId, fence, leaseUntil, { most: call.leaseMs, byWall })
    )
  }

  /** Milliseconds left of an open reservation; negative once its deadline has passed. */
  readonly reservationLeftMs = ({ reservationId, deadline }: ReservationState, state: RunState): number =>
    this.#remaining(reservationId, NO_FENCE, deadline) ??
    this.#met(reservationId, NO_FENCE, deadline, {
      most: RESERVATION_DEADLINE_MAX_MS,
      byWall: () => reservationLeftByWall(deadline, state, this.#effects.nowMs()),
    })

  /** Called when a run is loaded: grants of other processes are measured from here on. */
  loaded({ state }: RunAggregate): void {
    if (state === undefined) return
    for (const call of openCalls(state)) if (call.status === 'claimed') this.leftMs(call, state)
    for (const key of Object.keys(state.openReservations)) {
      const reservation = state.reservations[key]
      if (reservation !== undefined) this.reservationLeftMs(reservation, state)
    }
  }

  /** Called when an event of this call was decided here and folded: a lease that it granted lasts its full length. */
  decided({ state }: RunAggregate, callId: string): void {
    const call = state?.calls[safeKey(callId)]
    if (call?.status !== 'claimed') {
      this.#terms.delete(callId)
      return
    }
    const { fence, leaseUntil } = call
    if (this.#remaining(callId, fence, leaseUntil) === undefined) this.#keep(callId, fence, leaseUntil, call.leaseMs)
  }

  /** Called when an event of this reservation was decided here and folded: its deadline is measured from the time of the event that granted it. */
  reserved({ state }: RunAggregate, reservationId: string): void {
    const reservation = state?.reservations[safeKey(reservationId)]
    if (state === undefined || reservation?.status !== 'open') {
      this.#terms.delete(reservationId)
      return
    }
    const { deadline } = reservation
    if (this.#remaining(reservationId, NO_FENCE, deadline) !== undefined) return
    this.#keep(reservationId, NO_FENCE, deadline, Date.parse(deadline) - Date.parse(state.time))
  }

  /** Undefined if this term has not been seen yet. */
  #remaining(id: string, fence: number, until: string): number | undefined {
    const known = this.#terms.get(id)
    return known?.fence === fence && known.until === until ? known.endMs - this.#effects.monotonicMs() : undefined
  }

  #met(
    id: string,
    fence: number,
    until: string,
    bounds: { readonly most: number; readonly byWall: () => number },
  ): number {
    const leftMs = Math.min(bounds.most, bounds.byWall())
    this.#keep(id, fence, until, leftMs)
    return leftMs
  }

  #keep(id: string, fence: number, until: string, leftMs: number): void {
    const endMs = this.#effects.monotonicMs() + leftMs
    this.#terms.set(id, { fence, until, endMs }, TERM_BYTES + textBytes(until))
  }
}
