/** @module The decisions that settle, renew or resolve a claim (RUN-13 to RUN-17). */
import { type CallState, type RunState, safeKey } from '../../projections/run-state.ts'
import type { EventBody } from '../../schemas/events.ts'
import type { RenewCall, SettleCall } from '../../schemas/requests.ts'
import { LEASE_MAX_MS } from '../../schemas/value-forms.ts'
import { inDoubt, leaseEnded } from './calls.ts'
import { rollbackStep } from './compensation.ts'
import {
  append,
  type Decision,
  type Draft,
  type Env,
  mustBeOpen,
  recordOnce,
  refuse,
  refusedBody,
  timeAfter,
} from './decision.ts'
import { isLeaseOver, leaseExpired } from './lease.ts'
import { type Refusal, refusal } from './refusal.ts'
import type { Resolve } from './run-command.ts'
import { releaseOf, reservationOfOlderFence, usageDrafts } from './usage.ts'

interface OnCall<Body> {
  readonly callId: string
  readonly body: Body
}

type Outcome = 'succeeded' | 'failed' | 'unknown'

/** Records an outcome. The current fence is accepted even past the deadline, because the outcome is the best evidence there is. */
export function decideSettle(state: RunState, { callId, body }: OnCall<SettleCall>, env: Env): Decision {
  const call = state.calls[safeKey(callId)]
  if (call === undefined) return refuse(noSuchCall(callId))
  if (body.fence < call.fence) return staleSettle(state, call, { body, env })
  if (body.fence > call.fence) return refuse(staleFence(call, body.fence))
  if (call.status !== 'claimed' && call.unknownOutcome !== true) return { kind: 'recorded-call', callId }

  const of = { agent: call.agent ?? env.actor, callId, reservationId: call.reservationId }
  const usage = usageDrafts(state, body.usage, of)
  if (usage.kind === 'refuse') return usage
  // A call that may have been executed may have incurred costs: its reservation stays until its usage is known or its deadline charges it.
  const release = body.usage === undefined && body.unknown === undefined ? releaseOf(state, call.reservationId) : []
  const [settled, ...after] = outcomeDrafts(call, body)
  const { expired, end } = rollbackStep(state, { call, draft: settled }, env)
  return append(...expired, ...usage.drafts, ...release, settled, ...after, ...end)
}

type Settled = Pick<CallState, 'callId' | 'fence' | 'phase' | 'compensates'>

/** The event of the outcome, and that of a result that was lost. */
export function outcomeDrafts(call: Settled, body: SettleCall): readonly [Draft, ...Draft[]] {
  return [settledDraft(call, body), ...notRecorded(call, body)]
}

/** Records a lost result: the run has to be rolled back, this call included, because no continuation has the result. */
function notRecorded({ callId, fence, phase }: Settled, { unrecorded }: SettleCall): Draft[] {
  if (unrecorded === undefined || unrecorded.answered === true || phase !== 'forward') return []
  return [{ type: 'ResultNotRecorded', data: { v: 1, callId, fence, reason: unrecorded.reason } }]
}

function settledDraft(call: Settled, body: SettleCall): Draft {
  const identity = { v: 1 as const, callId: call.callId, fence: call.fence }
  const { compensates } = call
  if (body.unknown !== undefined) {
    const { reason, left } = body.unknown
    const cause = left === true ? ('left' as const) : ('outcome-unknown' as const)
    const data = { ...identity, cause, reason }
    if (compensates === undefined) return { type: 'ToolCallInDoubt', data }
    return { type: 'CompensationInDoubt', data: { ...data, compensates } }
  }
  if (body.error !== undefined) {
    const data = { ...identity, error: body.error }
    if (compensates === undefined) return { type: 'ToolCallFailed', data }
    const willRetry = body.willRetry === undefined ? {} : { willRetry: body.willRetry }
    return { type: 'CompensationFailed', data: { ...data, compensates, ...willRetry } }
  }
  const data: EventBody<'ToolCallSucceeded'> = {
    ...identity,
    v: body.unrecorded?.answered === true ? 2 : 1,
    ...(body.result === undefined ? {} : { result: body.result }),
    ...(body.unrecorded === undefined ? {} : { unrecorded: body.unrecorded }),
  }
  if (compensates === undefined) return { type: 'ToolCallSucceeded', data }
  const standing = body.leftStanding === undefined ? {} : { leftStanding: body.leftStanding }
  return { type: 'CompensationSucceeded', data: { ...data, compensates, ...standing } }
}

/** Records the late outcome of an older claim: the call may have been executed twice. Its usage counts nevertheless. */
function staleSettle(state: RunState, call: CallState, inputs: { body: SettleCall; env: Env }): Decision {
  const { body, env } = inputs
  const status: Outcome = body.error !== undefined ? 'failed' : body.unknown !== undefined ? 'unknown' : 'succeeded'
  const digest = body.result === undefined ? {} : { digest: env.digestOf(body.result) }
  const refused = staleFence(call, body.fence)
  const fingerprint = env.digestOf({ callId: call.callId, fence: body.fence, status, ...digest })
  const record: Draft = {
    type: 'RequestRefused',
    data: {
      ...refusedBody(refused, fingerprint),
      lateOutcome: { callId: call.callId, fence: body.fence, status, ...digest },
    },
  }
  const decided = recordOnce(state, env, { refusal: refused, record, fingerprint })
  if (decided.record === undefined) return decided
  const of = {
    agent: call.agent ?? env.actor,
    callId: call.callId,
    reservationId: reservationOfOlderFence(state, call),
  }
  const usage = usageDrafts(state, body.usage, of)
  return usage.kind === 'refuse' ? usage : { ...decided, before: usage.drafts }
}

function staleFence(call: CallState, fence: number): Refusal {
  return refusal('stale-fence', 'the call was claimed again since; only the newest claim may settle it', {
    pointer: '/fence',
    evidence: { callId: call.callId, expected: fence, actual: call.fence },
  })
}

function noSuchCall(callId: string): Refusal {
  return refusal('call-not-found', `this run has no call ${callId}`)
}

/** Doubles the duration of the lease, up to the maximum. */
export function decideRenew(state: RunState, { callId, body }: OnCall<RenewCall>, env: Env): Decision {
  const call = state.calls[safeKey(callId)]
  if (call === undefined) return refuse(noSuchCall(callId))
  if (body.fence !== call.fence) return refuse(staleFence(call, body.fence))
  if (call.status === 'in-doubt') return refuse(inDoubt(call))
  if (call.status !== 'claimed') return { kind: 'recorded-call', callId }
  if (isLeaseOver(call, state, env)) return leaseEnded(state, call, env)
  const closed = call.compensates === undefined ? mustBeOpen(state) : undefined
  if (closed !== undefined) return refuse(closed)

  const leaseMs = Math.min(call.leaseMs * 2, LEASE_MAX_MS)
  return append({
    type: 'ToolCallLeaseRenewed',
    data: { v: 1, callId, fence: call.fence, leaseMs, leaseUntil: timeAfter(leaseMs, state, env) },
  })
}

/** The record of the child says what became of the call: a finding beside it would give the outer run a result that the child never had. */
function decidedByChild(callId: string, run: string): Refusal {
  const detail = `the run ${run} does the work of this call and is open: its end decides what became of the call. Resume the outer run, or end the run ${run} instead`
  return refusal('call-not-in-doubt', detail, { evidence: { callId, run } })
}

/** Ends the doubt about a call on the evidence of a person or process that checked. An equal repeat gets the recorded answer, another outcome is refused. */
export function decideResolve(state: RunState, { callId, body, openChild }: Omit<Resolve, 'kind'>, env: Env): Decision {
  const call = state.calls[safeKey(callId)]
  if (call === undefined) return refuse(noSuchCall(callId))
  const over = isLeaseOver(call, state, env)
  if (call.status !== 'in-doubt' && !over) {
    if (call.resolved === true) return { kind: 'recorded-call', callId }
    return refuse(
      refusal('call-not-in-doubt', `the call is ${call.status}: there is no doubt to end`, {
        evidence: { callId, status: call.status },
      }),
    )
  }
  if (openChild !== undefined) return refuse(decidedByChild(callId, openChild))
  const resolved: Draft = {
    type: 'ToolCallResolved',
    data: {
      v: 1,
      callId,
      fence: call.fence,
      outcome: body.outcome,
      ...(body.result === undefined ? {} : { result: body.result }),
      evidence: body.evidence,
    },
  }
  const release = body.outcome === 'not-executed' ? releaseOf(state, call.reservationId) : []
  const { expired, end } = rollbackStep(state, { call, draft: resolved }, env)
  return append(...expired, ...(over ? [leaseExpired(call, state, env)] : []), ...release, resolved, ...end)
}
