/** @module Usage is always recorded, with the overshoot if it exceeds a limit (RUN-44); only reservations are refused. */
import { type CallState, type ReservationState, type RunState, safeKey } from '../../projections/run-state.ts'
import type { EventBody } from '../../schemas/events.ts'
import { subtractMoney } from '../../schemas/money.ts'
import type { PostUsage, ReleaseReservation, SettleReservation } from '../../schemas/requests.ts'
import type { Usage } from '../../schemas/values.ts'
import { append, type Decision, type Draft, type Refused, refuse } from './decision.ts'
import { currencyFault, overshootOf, sumFault } from './limits.ts'
import { type Refusal, refusal } from './refusal.ts'

export type Drafts =
  | { readonly kind: 'drafts'; readonly drafts: readonly Draft[]; readonly reservationId?: string }
  | Refused

export function decideSettleReservation(
  state: RunState,
  { reservationId, body }: { reservationId: string; body: SettleReservation },
): Decision {
  const reservation = state.reservations[safeKey(reservationId)]
  if (reservation === undefined) return refuse(noSuchReservation(reservationId))
  if (!isUnsettled(reservation)) return refuse(reservationEnded(reservation))
  const usage = usageDrafts(state, body.usage, { agent: reservation.agent, callId: reservation.callId, reservationId })
  return usage.kind === 'refuse' ? usage : append(...usage.drafts)
}

export function decideRelease(
  state: RunState,
  { reservationId, body }: { reservationId: string; body: ReleaseReservation },
): Decision {
  const reservation = state.reservations[safeKey(reservationId)]
  if (reservation === undefined) return refuse(noSuchReservation(reservationId))
  if (reservation.status !== 'open') return refuse(reservationEnded(reservation))
  const reason = body.reason === undefined ? {} : { reason: body.reason }
  return append({ type: 'BudgetReleased', data: { v: 1, reservationId, ...reason } })
}

/** Whether usage is still accepted: the reservation is open, or it expired and was charged in full as an estimate. */
function isUnsettled({ status }: ReservationState): boolean {
  return status === 'open' || status === 'expired'
}

function noSuchReservation(reservationId: string): Refusal {
  return refusal('reservation-not-found', `this run has no reservation ${reservationId}`)
}

function reservationEnded(reservation: ReservationState): Refusal {
  return refusal('reservation-ended', `the reservation is ${reservation.status}`, {
    evidence: { reservationId: reservation.reservationId, status: reservation.status },
  })
}

/** Records usage without a reservation. */
export function decideUsage(state: RunState, body: PostUsage): Decision {
  const usage = usageDrafts(state, body.usage, { agent: body.agent, callId: body.callId })
  return usage.kind === 'refuse' ? usage : append(...usage.drafts)
}

/** Drafts that record the usage and settle its reservation; empty if no usage is reported. */
export function usageDrafts(
  state: RunState,
  usage: Usage | undefined,
  of: { agent: string; callId?: string | undefined; reservationId?: string | undefined },
): Drafts {
  if (usage === undefined) return { kind: 'drafts', drafts: [] }
  const mixed = currencyFault(state, usage.currency)
  if (mixed !== undefined) return refuseUsage(mixed, '/usage/currency')

  const known = of.reservationId === undefined ? undefined : state.reservations[safeKey(of.reservationId)]
  const reservation = known !== undefined && isUnsettled(known) ? known : undefined
  const agent = known?.agent ?? of.agent
  const more = subtractMoney(usage.cost ?? '0', reservation?.cost ?? '0')
  const tooLong = more.startsWith('-') ? undefined : sumFault(state, { agent, cost: more })
  if (tooLong !== undefined) return refuseUsage(tooLong, '/usage/cost')

  const overshoot = overshootOf(state, { agent, usage }, reservation?.status === 'expired' ? reservation : undefined)
  const unnamed = usage.cost !== undefined && usage.currency === undefined && state.currency !== undefined
  const data: EventBody<'UsageRecorded'> = {
    v: 1,
    agent,
    usage: unnamed ? { ...usage, currency: state.currency } : usage,
    ...(reservation === undefined ? {} : { reservationId: reservation.reservationId }),
    ...(of.callId === undefined ? {} : { callId: of.callId }),
    ...(overshoot === undefined ? {} : { overshoot }),
  }
  return { kind: 'drafts', drafts: [{ type: 'UsageRecorded', data }] }
}

function refuseUsage(fault: Refusal, pointer: string): Refused {
  return { kind: 'refuse', refusal: { ...fault, pointer } }
}

/** Releases the reservation of a call whose outcome shows that it was not used. */
export function releaseOf(state: RunState, reservationId: string | undefined): Draft[] {
  if (reservationId === undefined || state.reservations[safeKey(reservationId)]?.status !== 'open') return []
  return [{ type: 'BudgetReleased', data: { v: 1, reservationId } }]
}

/** The unsettled reservation of an earlier attempt of the call, if there is exactly one. */
export function reservationOfOlderFence(state: RunState, call: CallState): string | undefined {
  const older = Object.values(state.reservations).filter(
    (each) => each.callId === call.callId && each.reservationId !== call.reservationId && isUnsettled(each),
  )
  return older.length === 1 ? older[0]?.reservationId : undefined
}
