/** @module Hard budgets: nothing is reserved beyond a limit (design.md section 6, runtime.md section 8). */
import type { ReservationState, RunState } from '../../projections/run-state.ts'
import {
  type ClaimCall,
  type PostReservation,
  RESERVATION_DEADLINE_DEFAULT_MS,
  type Reserve,
} from '../../schemas/requests.ts'
import { append, type Decision, type Draft, type Env, pastBefore, type Refused, refuse, timeAfter } from './decision.ts'
import { budgetExceeded, currencyFault, type Exceeded, findExceeded, sumFault } from './limits.ts'
import { mustBeOpen, recordOnce } from './run-rules.ts'
import type { Drafts } from './usage.ts'

export function decideReservation(state: RunState, body: PostReservation, env: Env): Decision {
  const closed = mustBeOpen(state)
  if (closed !== undefined) return refuse(closed)
  const reserved = reserve(state, body, { env })
  return reserved.kind === 'refuse' ? reserved : append(...reserved.drafts)
}

/** The reservation that a claim asks for, in the claim's own write. */
export function reserveFor(state: RunState, claim: ClaimCall, given: { callId: string; env: Env }): Drafts {
  if (claim.reserve === undefined) return { kind: 'drafts', drafts: [] }
  const agent = claim.reserve.agent ?? claim.agent ?? given.env.actor
  return reserve(state, { ...claim.reserve, agent }, given)
}

type Asked = Reserve & { readonly agent: string }

function reserve(state: RunState, asked: Asked, given: { callId?: string; env: Env }): Drafts {
  const { env, callId } = given
  const { agent, tokens = 0, cost = '0', provider, model } = asked
  const fault = currencyFault(state, asked.currency) ?? sumFault(state, { agent, cost })
  if (fault !== undefined) return { kind: 'refuse', refusal: fault }

  const expired = expiredReservations(state, env)
  const ended = expired.map(expiredDraft)
  const exceeded = findExceeded(state, { agent, tokens, cost }, expired)
  if (exceeded !== undefined) return exceededRefusal(state, env, { exceeded, asked, ended })

  const reservationId = env.newId()
  const currency = asked.currency ?? (asked.cost === undefined ? undefined : state.currency)
  const draft: Draft = {
    type: 'BudgetReserved',
    data: {
      v: 1,
      reservationId,
      agent,
      tokens,
      cost,
      ...(currency === undefined ? {} : { currency }),
      ...(provider === undefined ? {} : { provider }),
      ...(model === undefined ? {} : { model }),
      deadline: timeAfter(asked.deadlineMs ?? RESERVATION_DEADLINE_DEFAULT_MS, state, env),
      ...(callId === undefined ? {} : { callId }),
    },
  }
  return { kind: 'drafts', drafts: [...ended, draft], reservationId }
}

/** Open reservations past their deadline: whoever decides on the budget ends them. */
export function expiredReservations(state: RunState, env: Env): ReservationState[] {
  const before = pastBefore(state, env)
  return Object.keys(state.openReservations).flatMap((key) => {
    const reservation = state.reservations[key]
    return reservation !== undefined && reservation.deadline < before ? [reservation] : []
  })
}

export function expiredDraft(reservation: ReservationState): Draft {
  return { type: 'ReservationExpired', data: { v: 1, reservationId: reservation.reservationId } }
}

function exceededRefusal(
  state: RunState,
  env: Env,
  given: { exceeded: Exceeded; asked: Asked; ended: readonly Draft[] },
): Refused {
  const { exceeded, asked, ended } = given
  const { agent, scope, dimension } = exceeded
  const fingerprint = env.digestOf({ agent, tokens: asked.tokens ?? 0, cost: asked.cost ?? '0', scope, dimension })
  const record: Draft = { type: 'BudgetExceeded', data: { v: 1, ...exceeded, fingerprint } }
  return { ...recordOnce(state, env, { refusal: budgetExceeded(exceeded), record, fingerprint }), before: ended }
}
