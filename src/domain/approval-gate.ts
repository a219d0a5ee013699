/** @module Whether a claim may run without anybody's yes, with one that was granted, or has to wait for it (RUN-60, RUN-62, RUN-131, RUN-133). */
import type { ApprovalState } from '../../projections/approval-state.ts'
import { type CallState, type RunState, safeKey } from '../../projections/run-state.ts'
import type { SuspectState } from '../../projections/suspect-state.ts'
import {
  APPROVAL_EXPIRES_DEFAULT_MS,
  APPROVALS_OPEN_MAX,
  type ApprovalNeed,
  type Approve,
  parseWhen,
} from '../../schemas/approval.ts'
import type { EventBody } from '../../schemas/events.ts'
import type { Json } from '../../schemas/json.ts'
import type { ClaimCall } from '../../schemas/requests.ts'
import type { Phase } from '../../schemas/values.ts'
import {
  type Decision,
  type Draft,
  type Env,
  nowMsOf,
  type Refused,
  refuse,
  refuseOnRecord,
  timeAfter,
} from './decision.ts'
import { sentBody } from './redaction/sent.ts'
import { type Refusal, refusal } from './refusal.ts'
import { hidesOf, holdingSuspects, isMoot, suspectNeed } from './suspect-hold.ts'
import { type Budget, isRuledOut, STEPS_MAX } from './validator/policy/evaluate.ts'

/** A claim that nothing else keeps from running. */
export interface GatedClaim {
  readonly claim: ClaimCall
  readonly phase: Phase
  readonly key: string
  readonly argsDigest: string
  /** Of a compensation: the forward call. */
  readonly undoes: CallState | undefined
  /** The call as it stands, where the claim is another attempt at it; of one that was undone, only its generation counts. */
  readonly known: CallState | undefined
  readonly env: ClaimEnv
}

export interface ClaimEnv extends Env {
  /** An event of the run that was read for the decision. */
  readonly eventAt?: ((revision: number) => { readonly data: object } | undefined) | undefined
}

export type Gate =
  /** `ended`: an approval that nothing asks for any more. */
  | { readonly kind: 'open'; readonly approvalId?: string; readonly ended?: readonly Draft[] }
  | Extract<Decision, { kind: 'needs-events' }>
  | Refused

/** How long a caller should wait before it looks again. */
const LOOK_AGAIN_MS = 2_000

/**
 * An approval admits one call, with all its attempts: a call that was undone and is made again needs another. What was declared undoes a call whatever else
 * was requested in its place.
 */
export function approvalGate(state: RunState, gated: GatedClaim): Gate {
  const { phase, key, known } = gated
  const current = state.approvals[safeKey(state.approvalKeys[safeKey(`${phase} ${key}`)] ?? '')]
  const misnamed = approvalIdFault(state, gated, current)
  if (misnamed !== undefined) return misnamed
  const rules = rulesFor(state, gated)
  if (known !== undefined && known.status !== 'compensated' && known.approvalId !== undefined) {
    const approval = state.approvals[safeKey(known.approvalId)]
    const other = approval === undefined ? undefined : otherUndoing(approval, rules, gated)
    return other === undefined ? { kind: 'open', approvalId: known.approvalId } : refusedOnRecord(state, gated, other)
  }
  const moot = current !== undefined && isMoot(state, current) ? current : undefined
  const asked = current?.status === 'used' || moot !== undefined ? undefined : current
  const ended = moot?.status === 'pending' ? [expiredApproval(moot)] : []
  if (asked === undefined && rules.length === 0) return { kind: 'open', ended }
  const declared = isDeclaredUndoing(gated)
  if (typeof declared === 'object') return declared
  if (declared) return { kind: 'open' }
  if (asked === undefined) return requested(state, { met: rules, ended }, gated)
  return byApproval(state, { approval: asked, rules }, gated)
}

/**
 * What its call named as its compensation, on the arguments of that call, was allowed with the call. Whoever undoes a call whose arguments lack something
 * (RUN-98) sends what the record has of them.
 */
function isDeclaredUndoing({ claim, argsDigest, undoes, env }: GatedClaim): boolean | Gate {
  if (undoes === undefined || undoneBy(undoes) !== claim.tool) return false
  if (undoes.argsDigest === argsDigest || undoes.argsDigest === env.digestOf(claim.args)) return true
  if (env.eventAt === undefined) return false
  const claimed = env.eventAt(undoes.claimRevision)?.data as { readonly args?: Json } | undefined
  if (claimed === undefined) return { kind: 'needs-events', revisions: [undoes.claimRevision] }
  return claimed.args !== undefined && env.digestOf(claimed.args) === env.digestOf(claim.args)
}

function undoneBy({ compensate }: Pick<ClaimCall, 'compensate'>): string | undefined {
  return typeof compensate === 'object' ? compensate.tool : undefined
}

/** What there is already: nothing that the claim says now makes it any less. */
function byApproval(
  state: RunState,
  { approval, rules }: { readonly approval: ApprovalState; readonly rules: readonly Met[] },
  gated: GatedClaim,
): Gate {
  const { env } = gated
  const other = otherCall(approval, gated) ?? otherUndoing(approval, rules, gated)
  if (other !== undefined) return refusedOnRecord(state, gated, other)
  if (approval.status === 'denied') return refuse(approvalDenied(approval))
  if (approval.status === 'expired') return refuse(approvalExpired(approval))
  if (isExpired(approval, state, env))
    return { ...refuse(approvalExpired(approval)), before: [expiredApproval(approval)] }
  const suspects = rules.flatMap((met) => met.suspects ?? [])
  if (hidesOf(approval, suspects)) return requested(state, { met: rules, ended: [expiredApproval(approval)] }, gated)
  if (approval.status === 'pending') return refuse(approvalPending(approval))
  return { kind: 'open', approvalId: approval.approvalId }
}

/** The caller names the approval that it means to use: no other will do. */
function approvalIdFault(state: RunState, gated: GatedClaim, current: ApprovalState | undefined): Refused | undefined {
  const { claim, known } = gated
  if (claim.approval === undefined) return undefined
  const named = state.approvals[safeKey(claim.approval)]
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

/** A compensation that needs an approval itself, and was not requested with the call. */
function otherUndoing(approval: ApprovalState, rules: readonly Met[], gated: GatedClaim): Refusal | undefined {
  const named = gatedUndoing(rules)
  return named === undefined || named === approval.undoneBy ? undefined : mismatch(approval, gated, '/compensate')
}

function mismatch({ approvalId, argsDigest }: ApprovalState, gated: GatedClaim, pointer: string): Refusal {
  return refusal(
    'approval-mismatch',
    'the approval is for another call: other arguments, another tool, agent, key or compensation',
    {
      pointer,
      evidence: { approvalId, expected: argsDigest, actual: gated.argsDigest },
    },
  )
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
  /** The compensation that the call names, where the rule is about that one. */
  readonly undoneBy?: string | undefined
  /** The suspects that the call waits for. */
  readonly suspects?: readonly SuspectState[]
}

/**
 * By the tool's own word, the agent's manifest and the run's policy: each adds, none takes away. What a call names as its compensation is carried out later
 * on the same arguments, and without a word from anyone: a rule about that one counts for the call.
 */
function rulesFor(state: RunState, { claim, phase, env }: GatedClaim): Met[] {
  const manifest = state.manifests[safeKey(claim.agent ?? env.actor)]?.manifest.policy?.approve ?? []
  const undoing = phase === 'compensation' ? undefined : undoneBy(claim)
  const named = [
    ...(state.policy.approve ?? []).map((rule) => ({ source: 'policy' as const, rule })),
    ...manifest.map((rule) => ({ source: 'manifest' as const, rule })),
  ].flatMap(({ source, rule }): Met[] => {
    const { tools } = rule
    const byUndoing = undoing !== undefined && tools?.includes(undoing) === true
    if (byUndoing) return [{ source, rule, undoneBy: undoing }]
    return tools === undefined || tools.includes(claim.tool) ? [{ source, rule }] : []
  })
  const own = claim.approve === undefined ? [] : [{ source: 'tool' as const, rule: claim.approve }]
  const budget: Budget = { stepsLeft: STEPS_MAX, members: new Map() }
  // Judged as they were sent: a rule that leaves something out exempts nobody.
  const args = sentBody(env.sent, 'claim')?.body.args ?? claim.args
  const met: Met[] = [...named, ...own].filter(({ rule }) => !isExempt(rule, args, budget))
  const suspects = holdingSuspects(state, { claim, phase, actor: env.actor })
  return suspects.length === 0 ? met : [...met, { source: 'suspect', rule: {}, suspects }]
}

/** Only a plain no is one: what cannot be judged on these arguments waits for somebody who can. */
function isExempt({ when }: Approve, args: Json, budget: Budget): boolean {
  if (when === undefined) return false
  const parsed = parseWhen(when)
  return parsed.ok && isRuledOut(parsed.expression, { args }, budget)
}

function gatedUndoing(met: readonly Met[]): string | undefined {
  return met.find((each) => each.undoneBy !== undefined)?.undoneBy
}

function requested(
  state: RunState,
  { met, ended }: { readonly met: readonly Met[]; readonly ended: readonly Draft[] },
  gated: GatedClaim,
): Refused {
  const { claim, phase, key, argsDigest, known, env } = gated
  const over = overApprovals(state, env)
  if (over === 'full') return refuse(approvalsFull())
  const undoing = gatedUndoing(met)
  const expiresMs = Math.min(...met.map(({ rule }) => rule.expiresMs ?? APPROVAL_EXPIRES_DEFAULT_MS))
  const data: EventBody<'ApprovalRequested'> = {
    ...{ v: 1, approvalId: env.newId(), key, tool: claim.tool, phase, args: claim.args, argsDigest },
    generation: (known?.generation ?? 0) + 1,
    ...(undoing === undefined ? {} : { undoneBy: undoing }),
    ...(claim.agent === undefined ? {} : { agent: claim.agent }),
    ...(claim.scope === undefined ? {} : { scope: claim.scope }),
    ...(claim.occurrence === undefined ? {} : { occurrence: claim.occurrence }),
    ...(claim.parentCall === undefined ? {} : { parentCall: claim.parentCall }),
    needs: met.map(needOf),
    expiresAt: timeAfter(expiresMs, state, env),
    selfApproval: met.every(({ rule }) => rule.selfApproval === true),
    onDenied: met.some(({ rule }) => rule.onDenied === 'rollback') ? 'rollback' : 'error',
  }
  return { ...refuse(approvalPending(data)), before: [...over, ...ended, { type: 'ApprovalRequested', data }] }
}

/** Of a run that has as many as it may: those that nobody can decide any more. */
function overApprovals(state: RunState, env: Env): readonly Draft[] | 'full' {
  const open = Object.keys(state.pendingApprovals)
  if (open.length < APPROVALS_OPEN_MAX) return []
  const over = open.flatMap((key) => state.approvals[key] ?? []).filter((each) => isExpired(each, state, env))
  return over.length === 0 ? 'full' : over.map(expiredApproval)
}

function approvalsFull(): Refusal {
  const message = `a run has at most ${APPROVALS_OPEN_MAX} approvals that wait for a decision: have some of them decided first`
  return refusal('approvals-full', message, { evidence: { limit: APPROVALS_OPEN_MAX } })
}

function needOf({ source, rule, undoneBy: undoing, suspects }: Met): ApprovalNeed {
  if (suspects !== undefined) return suspectNeed(suspects)
  const { reason, when, quorum = 1, roles } = rule
  const stated = when === undefined ? `the ${source} wants every such call approved` : `the ${source} wants: ${when}`
  const of = undoing === undefined ? '' : `of ${undoing}, which the call names as its compensation: `
  return { source, reason: `${of}${reason ?? stated}`, quorum, ...(roles === undefined ? {} : { roles }) }
}
