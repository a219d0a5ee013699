/** @module The decision on a claim: which caller may run a call, which gets the recorded outcome, and which has to wait (RUN-7 to RUN-18). */
import { type CallState, callByKey, type RunState, safeKey } from '../../projections/run-state.ts'
import type { EventBody } from '../../schemas/events.ts'
import type { Json } from '../../schemas/json.ts'
import { keyReused as callKeyReused } from '../../schemas/key-reused.ts'
import { type ClaimCall, LEASE_DEFAULT_MS } from '../../schemas/requests.ts'
import type { Phase } from '../../schemas/values.ts'
import { approvalGate, type ClaimEnv } from './approval-gate.ts'
import { reserveFor } from './budget.ts'
import { ANCESTORS_MAX, isInPlan, rollbackStep } from './compensation.ts'
import {
  append,
  type Decision,
  type Draft,
  type Env,
  mustBeOpen,
  mustNotCompensate,
  mustOwn,
  refuse,
  refuseOnRecord,
  timeAfter,
} from './decision.ts'
import { isLeaseOver, leaseExpired } from './lease.ts'
import { sentBody } from './redaction/sent.ts'
import { type Refusal, refusal } from './refusal.ts'

/** The key of a call: the caller's key, or the digest of the JCS form of the members that identify the call (RUN-1). */
export function callKey(claim: ClaimCall, digestOf: (value: Json) => string): string {
  if (claim.key !== undefined) return claim.key
  return digestOf({
    tool: claim.tool,
    phase: claim.phase ?? 'forward',
    args: claim.args,
    ...(claim.scope === undefined ? {} : { scope: claim.scope }),
    ...(claim.occurrence === undefined ? {} : { occurrence: claim.occurrence }),
  })
}

export function decideClaim(state: RunState, claim: ClaimCall, env: ClaimEnv): Decision {
  const takenOver = state.status === 'open' ? mustOwn(state, claim.runFence) : undefined
  if (takenOver !== undefined) return refuse(takenOver)
  const phase = claim.phase ?? 'forward'
  const request: ClaimRequest = {
    claim,
    phase,
    ...identityOf(state, { claim, phase, env }),
    undoes: phase === 'compensation' ? state.calls[safeKey(claim.key ?? '')] : undefined,
  }
  const known = callByKey(state, phase, request.key)
  if (known !== undefined && (!isSameCall(known, request) || known.tool !== claim.tool)) {
    const { runFence } = claim
    return refuseOnRecord(state, env, {
      refusal: keyReused(known, request),
      fingerprint: fingerprintOf(request),
      runFence,
    })
  }
  if (known !== undefined) {
    const served = serveRecorded(state, known, env)
    if (served !== undefined) return served
  }
  const closed = claimFault(state, request)
  if (closed !== undefined) return refuse(closed)
  const { key, argsDigest, undoes } = request
  const gate = approvalGate(state, { claim, phase, key, argsDigest, undoes, known, env })
  if (gate.kind !== 'open') return gate
  return claimNow(state, request, { known, env, approvalId: gate.approvalId, ended: gate.ended ?? [] })
}

interface ClaimRequest {
  readonly claim: ClaimCall
  readonly phase: Phase
  readonly key: string
  readonly argsDigest: string
  /** Digest of the arguments as they were sent, which is what calls claimed before the redaction rule recorded. */
  readonly sentDigest: string
  /** The forward call, if this claim compensates one. */
  readonly undoes: CallState | undefined
}

/**
 * Redacted arguments still identify their call (RUN-96): two claims that differ only in a redacted value are two calls. Their recorded
 * digests are keyed. Calls that were claimed before a redaction rule applied are found by the plain key they were recorded with.
 */
function identityOf(
  state: RunState,
  { claim, phase, env }: { readonly claim: ClaimCall; readonly phase: Phase; readonly env: Env },
): Pick<ClaimRequest, 'key' | 'argsDigest' | 'sentDigest'> {
  const sent = sentBody(env.sent, 'claim')?.body
  if (env.sent === undefined || sent === undefined) {
    const argsDigest = env.digestOf(claim.args)
    return { key: callKey(claim, env.digestOf), argsDigest, sentDigest: argsDigest }
  }
  const plain = callKey(sent, env.digestOf)
  const isKnown = phase === 'compensation' || callByKey(state, phase, plain) !== undefined
  const sentDigest = env.digestOf(sent.args)
  return { key: isKnown ? plain : env.sent.blindKey(plain), argsDigest: env.sent.blind(sentDigest), sentDigest }
}

function isSameCall({ argsDigest }: CallState, request: ClaimRequest): boolean {
  return argsDigest === request.argsDigest || argsDigest === request.sentDigest
}

function fingerprintOf(query: ClaimRequest): Json {
  return { key: query.key, tool: query.claim.tool, args: query.argsDigest }
}

function keyReused(known: CallState, request: ClaimRequest): Refusal {
  const otherTool = known.tool !== request.claim.tool
  const { code, detail, evidence } = callKeyReused({
    callId: known.callId,
    expected: known.argsDigest,
    actual: request.argsDigest,
    ofTool: otherTool ? known.tool : undefined,
  })
  return refusal(code, detail, { pointer: otherTool ? '/tool' : '/args', evidence })
}

/** The answer to a repeated claim; undefined if the call may run (a new attempt or a new generation). */
function serveRecorded(state: RunState, known: CallState, env: Env): Decision | undefined {
  switch (known.status) {
    case 'succeeded':
    case 'compensation-failed':
    case 'compensation-unknown':
      return { kind: 'recorded-call', callId: known.callId }
    case 'compensating':
      return refuse(refusal('compensating', 'this call is being undone', { evidence: { callId: known.callId } }))
    case 'claimed':
      return isLeaseOver(known, state, env) ? endLease(state, known, env) : refuse(inProgress(known, state, env))
    case 'in-doubt':
      return known.onUnknown === 'retry' ? undefined : refuse(inDoubt(known))
    default:
      return undefined
  }
}

/** Records an expired lease as in doubt. If the tool declared that a retry is safe, returns undefined: the claim continues in the same write. */
function endLease(state: RunState, known: CallState, env: Env): Decision | undefined {
  return known.onUnknown === 'retry' ? undefined : leaseEnded(state, known, env)
}

/** Records that the lease has expired, and the end of the rollback if only this outcome was missing. */
export function leaseEnded(state: RunState, call: CallState, env: Env): Decision {
  const draft = leaseExpired(call, state, env)
  const { expired, end } = rollbackStep(state, { call, draft }, env)
  return append(...expired, draft, ...end)
}

function inProgress(known: CallState, state: RunState, env: Env): Refusal {
  const waitMs = Math.max(1_000, env.leaseLeftMs(known, state))
  return refusal('call-in-progress', 'another caller holds the lease of this call; wait for its outcome', {
    retryAfterMs: Math.min(waitMs, 5_000),
    evidence: { callId: known.callId, fence: known.fence, leaseUntil: known.leaseUntil },
  })
}

export function inDoubt(known: CallState): Refusal {
  return refusal('call-in-doubt', 'whether this call was executed is not known; find out, then resolve it', {
    evidence: { callId: known.callId, fence: known.fence, tool: known.tool },
  })
}

function claimFault(state: RunState, request: ClaimRequest): Refusal | undefined {
  const { claim, phase } = request
  if (phase === 'compensation') return compensationFault(state, request)
  const closed = mustBeOpen(state, claim.runFence) ?? mustNotCompensate(state, claim.scope)
  if (closed !== undefined) return closed
  return recursionFault(state, request)
}

function compensationFault(state: RunState, request: ClaimRequest): Refusal | undefined {
  if (request.undoes === undefined || request.undoes.phase !== 'forward') {
    return refusal('call-not-found', 'the key of a compensation is the id of the call it undoes', { pointer: '/key' })
  }
  if (mustNotCompensate(state, request.undoes.scope) === undefined) {
    return refusal(
      'not-compensating',
      'start the rollback first (POST compensations), so that nothing new starts beneath it',
    )
  }
  if (request.undoes.status === 'compensated') {
    return refusal('already-compensated', 'this call is undone already', {
      evidence: { callId: request.undoes.callId },
    })
  }
  if (request.undoes.status === 'claimed') {
    return refusal('call-in-progress', 'the call to undo has no outcome yet', {
      retryAfterMs: 1_000,
      evidence: { callId: request.undoes.callId, leaseUntil: request.undoes.leaseUntil },
    })
  }
  return notInPlan(state, request.undoes) ?? (request.claim.reserve === undefined ? undefined : reserveFault(state))
}

/** The refusal if the call is not in the plan of the rollback; a rollback acts on no other call. */
function notInPlan(state: RunState, undoes: CallState): Refusal | undefined {
  if (isInPlan(state, undoes)) return undefined
  if (undoes.status === 'in-doubt') return inDoubt(undoes)
  const reason =
    undoes.status === 'failed' ? 'the call failed: there is nothing to undo' : 'the rollback leaves this call as it is'
  return refusal('not-compensating', reason, { pointer: '/key', evidence: { callId: undoes.callId } })
}

/** The refusal to reserve in a run that has ended (STR-9). */
function reserveFault(state: RunState): Refusal | undefined {
  const closed = mustBeOpen(state)
  return closed === undefined ? undefined : { ...closed, pointer: '/reserve' }
}

function recursionFault(state: RunState, request: ClaimRequest): Refusal | undefined {
  const parent = request.claim.parentCall
  if (parent === undefined) return undefined
  let ancestor = state.calls[safeKey(parent)]
  if (ancestor === undefined) {
    return refusal('call-not-found', 'the parent call is not one of this run', { pointer: '/parentCall' })
  }
  for (let depth = 0; ancestor !== undefined; depth += 1) {
    const itself = ancestor.key === request.key && ancestor.phase === request.phase
    if (itself || depth >= ANCESTORS_MAX) {
      const fault = itself ? 'is its own ancestor: it would wait for itself' : `is nested deeper than ${ANCESTORS_MAX}`
      return refusal('recursive-call', `this call ${fault}`, { evidence: { callId: ancestor.callId } })
    }
    ancestor = ancestor.parentCall === undefined ? undefined : state.calls[safeKey(ancestor.parentCall)]
  }
  return undefined
}

function claimNow(
  state: RunState,
  request: ClaimRequest,
  inputs: {
    known: CallState | undefined
    env: Env
    approvalId: string | undefined
    /** Drafts that expire approvals which no caller requests any more. */
    ended: readonly Draft[]
  },
): Decision {
  const { known, env, approvalId, ended } = inputs
  const again = known !== undefined && known.status !== 'compensated'
  const callId = again ? known.callId : newCallId(state, request.claim, env)
  const expired = [...ended, ...(known?.status === 'claimed' ? [leaseExpired(known, state, env)] : [])]
  const { phase, key } = request
  const reserved = reserveFor(state, request.claim, { callId, phase, key, before: again ? known : undefined, env })
  if (reserved.kind === 'refuse') return { ...reserved, before: [...expired, ...(reserved.before ?? [])] }

  const leaseMs = request.claim.leaseMs ?? LEASE_DEFAULT_MS
  const body: EventBody<'ToolCallClaimed'> = {
    v: 1,
    ...declared(state, request),
    callId,
    fence: again ? known.fence + 1 : 1,
    key: request.key,
    tool: request.claim.tool,
    phase: request.phase,
    args: request.claim.args,
    argsDigest: request.argsDigest,
    attempt: again ? known.attempt + 1 : 1,
    generation: again ? known.generation : (known?.generation ?? 0) + 1,
    leaseMs,
    leaseUntil: timeAfter(leaseMs, state, env),
    ...(request.claim.owner === undefined ? {} : { owner: request.claim.owner }),
    onUnknown: request.claim.onUnknown ?? 'in-doubt',
    ...(reserved.reservationId === undefined ? {} : { reservationId: reserved.reservationId }),
    ...(approvalId === undefined ? {} : { approvalId }),
  }
  return append(...expired, ...reserved.drafts, { type: 'ToolCallClaimed', data: body })
}

/** The id that the caller proposes, unless a call of the run has it. */
function newCallId(state: RunState, { callId }: ClaimCall, env: Env): string {
  return callId === undefined || state.calls[safeKey(callId)] !== undefined ? env.newId() : callId
}

/** The members of the claim that the caller declares, copied unchanged. */
function declared(state: RunState, request: ClaimRequest): Partial<EventBody<'ToolCallClaimed'>> {
  const {
    agent,
    scope,
    occurrence,
    group,
    compensate,
    compensateUnknown,
    compensateFailed,
    parentCall,
    effects,
    after,
  } = request.claim
  return {
    ...(agent === undefined ? {} : { agent }),
    ...(scope === undefined ? {} : { scope }),
    ...(occurrence === undefined ? {} : { occurrence }),
    ...(group === undefined ? {} : { group }),
    ...(compensate === undefined ? {} : { compensate }),
    ...(compensateUnknown === undefined ? {} : { compensateUnknown }),
    ...(compensateFailed === undefined ? {} : { compensateFailed }),
    ...(parentCall === undefined ? {} : { parentCall }),
    ...(effects === undefined ? {} : { effects }),
    // No code has been given an outcome that is not recorded yet.
    ...(after === undefined ? {} : { after: Math.min(after, state.revision + 1) }),
    ...(request.undoes === undefined ? {} : { compensates: request.undoes.callId }),
  }
}
