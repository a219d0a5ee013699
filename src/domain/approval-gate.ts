/** @module Whether a claim may run without anybody's yes, with one that was granted, or has to wait for it (RUN-60, RUN-62). */
import type { ApprovalState } from '../../projections/approval-state.ts'
import { type CallState, type RunState, slot } from '../../projections/run-state.ts'
import { APPROVAL_EXPIRES_DEFAULT_MS, type ApprovalNeed, type Approve, parseWhen } from '../../schemas/approval.ts'
import type { EventBody } from '../../schemas/events.ts'
import type { Json } from '../../schemas/json.ts'
import type { ClaimCall } from '../../schemas/requests.ts'
import type { Phase } from '../../schemas/values.ts'
import { type Draft, type Env, nowMsOf, type Refused, refuse, refuseOnRecord, timeAfter } from './decision.ts'
import { sentBody } from './redaction/sent.ts'
import { type Refusal, refusal } from './refusal.ts'
import { type Budget, isRuledOut, STEPS_MAX } from './validator/policy/evaluate.ts'

/** A claim that nothing else keeps from running. */
export interface GatedClaim {
  readonly claim: ClaimCall
  readonly phase: Phase
  readonly key: string
  readonly argsDigest: string
  /** The call as it stands, where the claim is another attempt at it; of one that was undone, only its generation counts. */
  readonly known: CallState | undefined
  readonly env: Env
}

export type Gate = { readonly kind: 'open'; readonly approvalId?: string } | Refused

/** How long a caller should wait before it looks again. */
const LOOK_AGAIN_MS = 2_000

/** An approval admits one call, with all its attempts: a call that was undone and is made again needs another. */
export function approvalGate(state: RunState, gated: GatedClaim): Gate {
  const { phase, key, known } = gated
  if (phase === 'compensation') return { kind: 'open' }
  const current = state.approvals[slot(state.approvalKeys[slot(`${phase} ${key}`)] ?? '')]
  const misnamed = approvalIdFault(state, gated, current)
  if (misnamed !== undefined) return misnamed
  if (known !== undefined && known.status !== 'compensated' && known.approvalId !== undefined) {
    return { kind: 'open', approvalId: known.approvalId }
  }
  if (current !== undefined && current.status !== 'used') return byApproval(state, current, gated)
  const rules = rulesFor(state, gated)
  return rules.length === 0 ? { kind: 'open' } : requested(state, rules, gated)
}

/** What there is already: nothing that the claim says now makes it any less. */
function byApproval(state: RunState, approval: ApprovalState, gated: GatedClaim): Gate {
  const { env } = gated
  const other = otherCall(approval, gated)
  if (other !== undefined) return refusedOnRecord(state, gated, other)
  if (approval.status === 'denied') return refuse(approvalDenied(approval))
  if (approval.status === 'expired') return refuse(approvalExpired(approval))
  if (isExpired(approval, state, env))
    return { ...refuse(approvalExpired(approval)), before: [expiredApproval(approval)] }
  if (approval.status === 'pending') return refuse(approvalPending(approval))
  return { kind: 'open', approvalId: approval.approvalId }
}

/** The caller names the approval that it means to use: no other will do. */
function approvalIdFault(state: RunState, gated: GatedClaim, current: ApprovalState | undefined): Refused | undefined {
  const { claim, known } = gated
  if (claim.approval === undefined) return undefined
  const named = state.approvals[slot(claim.approval)]
  if (named === undefined) {
    const notFound = refusal('approval-not-found', `this run has no approval ${claim.approval}`, {
      pointer: '/approval',
    })
    return refusedOnRecord(state, gated, notFound)
  }
  const isAttempt = known !== undefined && known.status !== 'compensated' && known.callId === named.callId
  if (named.status === 'used' && !isAttempt) return refusedOnRecord(state, gated, usedRefusal(named))
  const wrong = otherCall(named, gated) ?? (named === current ? undefined : mismatch(named, gated, '/key'))
  return wrong === undefined ? undefined : refusedOnRecord(state, gated, wrong)
}

function refusedOnRecord(state: RunState, gated: GatedClaim, wrong: Refusal): Refused {
  return refuseOnRecord(state, gated.env, { refusal: wrong, fingerprint: fingerprintOf(gated) })
}

function fingerprintOf({ claim, key, argsDigest }: GatedClaim): Json {
  return { approval: claim.approval ?? null, key, tool: claim.tool, args: argsDigest }
}

/** Another tool, other arguments, or another agent than was requested. */
function otherCall(approval: ApprovalState, gated: GatedClaim): Refusal | undefined {
  if (approval.tool !== gated.claim.tool) return mismatch(approval, gated, '/tool')
  if (approval.argsDigest !== gated.argsDigest) return mismatch(approval, gated, '/args')
  return approval.agent === gated.claim.agent ? undefined : mismatch(approval, gated, '/agent')
}

function mismatch({ approvalId, argsDigest }: ApprovalState, gated: GatedClaim, pointer: string): Refusal {
  return refusal('approval-mismatch', 'the approval is for another call: other arguments, another tool, agent or key', {
    pointer,
    evidence: { approvalId, expected: argsDigest, actual: gated.argsDigest },
  })
}

export function usedRefusal({ approvalId, callId = '' }: ApprovalState): Refusal {
  return refusal('approval-used', 'the approval was used for another call; one that is made again needs its own', {
    pointer: '/approval',
    evidence: { approvalId, callId },
  })
}

/** Past its end, whatever it stood at: by the later of the writer's clock and the stream's own time. */
export function isExpired(approval: ApprovalState, state: RunState, env: Pick<Env, 'nowMs'>): boolean {
  return nowMsOf(state, env) >= Date.parse(approval.expiresAt)
}

export function expiredApproval({ approvalId, tool }: ApprovalState): Draft {
  return { type: 'ApprovalExpired', data: { v: 1, approvalId, tool } }
}

type Pending = Pick<ApprovalState, 'approvalId' | 'tool' | 'argsDigest' | 'expiresAt' | 'needs' | 'onDenied'>

function approvalPending({ approvalId, tool, argsDigest, expiresAt, needs, onDenied }: Pending): Refusal {
  const need = needs
    .map(({ reason }) => reason)
    .join('; ')
    .slice(0, 512)
  return refusal('approval-pending', `${tool} waits for an approval of these arguments: ${need}`, {
    retryAfterMs: LOOK_AGAIN_MS,
    evidence: { approvalId, argsDigest, expiresAt, onDenied },
  })
}

function approvalDenied({ approvalId, tool, onDenied, denial }: ApprovalState): Refusal {
  return refusal('approval-denied', `the approval of ${tool} was denied: it does not run`, {
    evidence: { approvalId, onDenied, comment: denial?.comment ?? null },
  })
}

export function approvalExpired({ approvalId, tool, expiresAt, onDenied }: ApprovalState): Refusal {
  return refusal('approval-expired', `the approval of ${tool} was not decided and used in time: it does not run`, {
    evidence: { approvalId, expiresAt, onDenied },
  })
}

/** A rule that the call has met, and who set it. */
interface Met {
  readonly source: ApprovalNeed['source']
  readonly rule: Approve
}

/** By the tool's own word, the agent's manifest and the run's policy: each adds, none takes away. */
function rulesFor(state: RunState, { claim, env }: GatedClaim): Met[] {
  const manifest = state.manifests[slot(claim.agent ?? env.actor)]?.manifest.policy?.approve ?? []
  const named = [
    ...(state.policy.approve ?? []).map((rule) => ({ source: 'policy' as const, rule })),
    ...manifest.map((rule) => ({ source: 'manifest' as const, rule })),
  ].filter(({ rule: { tools } }) => tools === undefined || tools.includes(claim.tool))
  const own = claim.approve === undefined ? [] : [{ source: 'tool' as const, rule: claim.approve }]
  const budget: Budget = { stepsLeft: STEPS_MAX, members: new Map() }
  // Judged as they were sent: a rule that leaves something out exempts nobody.
  const args = sentBody(env.sent, 'claim')?.body.args ?? claim.args
  return [...named, ...own].filter(({ rule }) => !isExempt(rule, args, budget))
}

/** Only a plain no is one: what cannot be judged on these arguments waits for somebody who can. */
function isExempt({ when }: Approve, args: Json, budget: Budget): boolean {
  if (when === undefined) return false
  const parsed = parseWhen(when)
  return parsed.ok && isRuledOut(parsed.expression, { args }, budget)
}

function requested(state: RunState, met: readonly Met[], gated: GatedClaim): Refused {
  const { claim, phase, key, argsDigest, known, env } = gated
  const expiresMs = Math.min(...met.map(({ rule }) => rule.expiresMs ?? APPROVAL_EXPIRES_DEFAULT_MS))
  const data: EventBody<'ApprovalRequested'> = {
    ...{ v: 1, approvalId: env.newId(), key, tool: claim.tool, phase, args: claim.args, argsDigest },
    generation: (known?.generation ?? 0) + 1,
    ...(claim.agent === undefined ? {} : { agent: claim.agent }),
    ...(claim.scope === undefined ? {} : { scope: claim.scope }),
    ...(claim.occurrence === undefined ? {} : { occurrence: claim.occurrence }),
    ...(claim.parentCall === undefined ? {} : { parentCall: claim.parentCall }),
    needs: met.map(needOf),
    expiresAt: timeAfter(expiresMs, state, env),
    selfApproval: met.every(({ rule }) => rule.selfApproval === true),
    onDenied: met.some(({ rule }) => rule.onDenied === 'rollback') ? 'rollback' : 'error',
  }
  return { ...refuse(approvalPending(data)), before: [{ type: 'ApprovalRequested', data }] }
}

function needOf({ source, rule }: Met): ApprovalNeed {
  const { reason, when, quorum = 1, roles } = rule
  const stated = when === undefined ? `the ${source} wants every such call approved` : `the ${source} wants: ${when}`
  return { source, reason: reason ?? stated, quorum, ...(roles === undefined ? {} : { roles }) }
}
