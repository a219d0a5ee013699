/** @module Hard budgets: no reservation exceeds a limit (RUN-43), and no handoff exceeds one under the policy `overshoot: "refuse"` (RUN-80). */
import { envelopeCharge } from '../../projections/run-budget.ts'
import { type CallState, type ReservationState, type RunState, safeKey } from '../../projections/run-state.ts'
import type { EventBody } from '../../schemas/events.ts'
import type { JsonObject } from '../../schemas/json.ts'
import {
  type ClaimCall,
  type PostEnvelope,
  type PostReservation,
  RESERVATION_DEADLINE_DEFAULT_MS,
  type Reserve,
} from '../../schemas/requests.ts'
import type { Failure, Phase } from '../../schemas/values.ts'
import {
  append,
  DEADLINE_GRACE_MS,
  type Decision,
  type Draft,
  type Env,
  mustBeOpen,
  type Refused,
  recordOnce,
  refuse,
  timeAfter,
} from './decision.ts'
import { budgetExceeded, currencyFault, type Exceeded, findExceeded, sumFault } from './limits.ts'
import type { Drafts } from './usage.ts'

export function decideReservation(state: RunState, body: PostReservation, env: Env): Decision {
  const closed = mustBeOpen(state)
  if (closed !== undefined) return refuse(closed)
  const reserved = reserve(state, body, { env })
  return reserved.kind === 'refuse' ? reserved : append(...reserved.drafts)
}

export interface PendingClaim {
  readonly callId: string
  readonly phase: Phase
  readonly key: string
  /** The current state of the call, if it is claimed again. */
  readonly before: CallState | undefined
  readonly env: Env
}

/** The reservation of a claim, in the write of the claim. If the previous attempt left a reservation open, that one is charged. */
export function reserveFor(state: RunState, claim: ClaimCall, inputs: PendingClaim): Drafts {
  const previous = state.reservations[safeKey(inputs.before?.reservationId ?? '')]
  const abandoned = previous?.status === 'open' ? previous : undefined
  if (claim.reserve === undefined)
    return { kind: 'drafts', drafts: abandoned === undefined ? [] : [abandonedDraft(abandoned)] }
  const agent = claim.reserve.agent ?? claim.agent ?? inputs.env.actor
  const { callId, phase, key, env } = inputs
  return reserve(
    state,
    { ...claim.reserve, agent },
    { callId, abandoned, env, claim: { tool: claim.tool, phase, key }, runFence: claim.runFence },
  )
}

type ReserveRequest = Reserve & { readonly agent: string }

interface Asking {
  readonly env: Env
  readonly callId?: string
  readonly claim?: EventBody<'BudgetExceeded'>['claim']
  readonly runFence?: number | undefined
  /** The open reservation of a previous attempt, which this one replaces. */
  readonly abandoned?: ReservationState | undefined
}

function reserve(state: RunState, request: ReserveRequest, input: Asking): Drafts {
  const { env, callId, abandoned, runFence } = input
  const { agent, tokens = 0, cost = '0', provider, model } = request
  const fault = currencyFault(state, request.currency) ?? sumFault(state, { agent, cost })
  if (fault !== undefined) return { kind: 'refuse', refusal: fault }

  const expired = expiredReservations(state, env)
  const ended = expired.map(expiredDraft)
  const exceeded = findExceeded(state, { agent, tokens, cost }, expired)
  if (exceeded !== undefined)
    return exceededRefusal(state, env, { exceeded, tokens, cost, ended, of: ofClaim(input.claim), runFence })

  const reservationId = env.newId()
  const currency = request.currency ?? (request.cost === undefined ? undefined : state.currency)
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
      deadline: timeAfter(request.deadlineMs ?? RESERVATION_DEADLINE_DEFAULT_MS, state, env),
      ...(callId === undefined ? {} : { callId }),
    },
  }
  const replaced = abandoned === undefined || expired.includes(abandoned) ? [] : [abandonedDraft(abandoned)]
  return { kind: 'drafts', drafts: [...ended, ...replaced, draft], reservationId }
}

/** Open reservations past their deadline; the next decision on the budget ends them. */
export function expiredReservations(state: RunState, env: Env): ReservationState[] {
  return Object.keys(state.openReservations).flatMap((key) => {
    const reservation = state.reservations[key]
    if (reservation === undefined) return []
    return env.reservationLeftMs(reservation, state) < -DEADLINE_GRACE_MS ? [reservation] : []
  })
}

/** Drafts that charge the reservations of model calls whose outcome no caller waits for; these calls do not keep the run from ending. */
export function chargedAtEnd(
  state: RunState,
  silent: readonly CallState[],
  expired: readonly ReservationState[],
): Draft[] {
  return silent.flatMap(({ reservationId }): Draft[] => {
    const reservation = state.reservations[safeKey(reservationId ?? '')]
    if (reservation?.status !== 'open' || expired.includes(reservation)) return []
    return [
      { type: 'ReservationExpired', data: { v: 1, reservationId: reservation.reservationId, cause: 'run-completed' } },
    ]
  })
}

export function expiredDraft(reservation: ReservationState): Draft {
  return { type: 'ReservationExpired', data: { v: 1, reservationId: reservation.reservationId } }
}

function abandonedDraft({ reservationId }: ReservationState): Draft {
  return { type: 'ReservationExpired', data: { v: 1, reservationId, cause: 'claimed-anew' } }
}

function ofClaim(claim: Asking['claim']): Refusing['of'] {
  return claim === undefined ? {} : { claim }
}

interface Refusing {
  readonly exceeded: Exceeded
  readonly tokens?: number
  readonly cost?: string
  /** Drafts for the reservations that the decision ends. */
  readonly ended: readonly Draft[]
  readonly runFence?: number | undefined
  /** The claim or handoff that was refused, recorded if a resumed run must get the same refusal. */
  readonly of: Pick<EventBody<'BudgetExceeded'>, 'claim' | 'handoff'>
}

function exceededRefusal(state: RunState, env: Env, refusing: Refusing): Refused {
  const { exceeded, ended, of, runFence } = refusing
  const { agent, scope, dimension, requested } = exceeded
  const { tokens = Number(requested), cost = '0' } = refusing
  const fingerprint = env.digestOf({ agent, tokens, cost, scope, dimension, ...of })
  const record: Draft = { type: 'BudgetExceeded', data: { v: 1, ...exceeded, fingerprint, ...of } }
  return {
    ...recordOnce(state, env, { refusal: budgetExceeded(exceeded), record, fingerprint, runFence }),
    before: ended,
  }
}

type HandedOver = Pick<PostEnvelope, 'agent' | 'tokens'>
type Placed = HandedOver &
  Pick<
    PostEnvelope,
    'runFence' | 'payload' | 'add' | 'mode' | 'supersedes' | 'moves' | 'manifestHash' | 'scope' | 'occurrence'
  >

/** The limit that these tokens would exceed. */
function tokensOverLimit(state: RunState, handed: HandedOver, env: Env): Exceeded | undefined {
  const requested = { agent: handed.agent, tokens: envelopeCharge(state, handed), cost: '0' }
  return findExceeded(state, requested, expiredReservations(state, env))
}

/** The failure of a branch whose output exceeds a token limit, if the policy refuses overshoot. The tokens are not charged. */
export function tokensFault(state: RunState, handed: HandedOver, env: Env): Failure | undefined {
  const exceeded = tokensOverLimit(state, handed, env)
  if (exceeded === undefined) return undefined
  const { code, detail, evidence } = budgetExceeded(exceeded)
  return { code, message: detail, details: evidence as JsonObject }
}

/** The refusal of a handoff that exceeds a token limit, recorded with the place of its request so that a resumed run gets the same refusal. */
export function refusedTokens(state: RunState, envelope: Placed, env: Env): Refused | undefined {
  const exceeded = tokensOverLimit(state, envelope, env)
  if (exceeded === undefined) return undefined
  const ended = expiredReservations(state, env).map(expiredDraft)
  return exceededRefusal(state, env, {
    exceeded,
    ended,
    of: { handoff: placeOf(envelope, env) },
    runFence: envelope.runFence,
  })
}

function placeOf(envelope: Placed, env: Env): NonNullable<EventBody<'BudgetExceeded'>['handoff']> {
  const { mode = 'replace', payload, add = null, supersedes = null, moves, manifestHash = null } = envelope
  const { scope, occurrence } = envelope
  const content = { mode, payload, add, supersedes, manifestHash, ...(moves !== undefined && { moves }) }
  return {
    content: env.digestOf(content as JsonObject),
    ...(scope === undefined ? {} : { scope }),
    ...(occurrence === undefined ? {} : { occurrence }),
  }
}
