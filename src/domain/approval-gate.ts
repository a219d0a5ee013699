/** @module Decides whether a claim may run without an approval, may run with a granted approval, or must wait for one (RUN-60, RUN-62, RUN-131, RUN-133). */
import type { ApprovalState } from '../../projections/approval-state.ts'
import { type CallState, type RunState, safeKey } from '../../projections/run-state.ts'
import { countSuspects, openSuspects, type SuspectState } from '../../projections/suspect-state.ts'
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
import { type Budget, isRuledOut, STEPS_MAX } from './validator/policy/evaluate.ts'
import { withManifestPolicy } from './validator/policy/with-manifest.ts'

/** A claim that has passed every other check. */
export interface GatedClaim {
  readonly claim: ClaimCall
  readonly phase: Phase
  readonly key: string
  readonly argsDigest: string
  /** The forward call that the claim compensates; undefined unless the claim is a compensation. */
  readonly undoes: CallState | undefined
  /** The current state of the call, if the claim is another attempt at it. If the call was undone, only its generation counts. */
  readonly known: CallState | undefined
  readonly env: ClaimEnv
}

export interface ClaimEnv extends Env {
  /** Returns an event of the run that was read for this decision. */
  readonly eventAt?: ((revision: number) => { readonly data: object } | undefined) | undefined
}

export type Gate =
  /** `ended` expires an approval that no caller requests any more. */
  | { readonly kind: 'open'; readonly approvalId?: string; readonly ended?: readonly Draft[] }
  | Extract<Decision, { kind: 'needs-events' }>
  | Refused

/** Milliseconds that a caller should wait before it polls again. */
const LOOK_AGAIN_MS = 2_000

/**
 * An approval admits one call with all its attempts: if the call was undone and is made again, the new call needs another approval. A
 * compensation that the forward call declared needs no approval, whatever else was requested in its place.
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
 * A compensation that its call declared, on the arguments of that call, was approved together with the call. If arguments of the call were
 * redacted (RUN-98), the compensation is claimed with the recorded arguments, which are compared with the claim event.
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

/** Decides by the existing approval; nothing that the claim declares now relaxes what was requested. */
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

/** The refusal if the caller names an approval that does not fit this claim; the named approval is the only one that may be used. */
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

/** The refusal if the tool, the arguments or the agent differ from what was requested. */
function otherCall(approval: ApprovalState, gated: GatedClaim): Refusal | undefined {
  if (approval.tool !== gated.claim.tool) return mismatch(approval, gated, '/tool')
  if (approval.argsDigest !== gated.argsDigest) return mismatch(approval, gated, '/args')
  return approval.agent === gated.claim.agent ? undefined : mismatch(approval, gated, '/agent')
}

/** The refusal if the compensation needs an approval itself and was not requested together with the call. */
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

/** Whether the approval is past its expiry, in any status; "now" is the later of the writer's clock and the stream's time. */
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

/** An approval rule that the call matches, and where the rule comes from. */
interface Met {
  readonly source: ApprovalNeed['source']
  readonly rule: Approve
  /** The compensation that the call names, if the rule applies to that compensation. */
  readonly undoneBy?: string | undefined
  /** The open suspects that the call waits for. */
  readonly suspects?: readonly SuspectState[]
}

/**
 * Collects the rules of the tool, the agent's manifest and the run's policy: each source adds rules and none removes any. The compensation
 * that a call names runs later on the same arguments without another approval, so a rule on that compensation applies to the call.
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
  // The arguments as sent are judged, so that redaction exempts no call.
  const args = sentBody(env.sent, 'claim')?.body.args ?? claim.args
  const met: Met[] = [...named, ...own].filter(({ rule }) => !isExempt(rule, args, budget))
  const suspects = holdingSuspects(state, { claim, phase, actor: env.actor })
  return suspects.length === 0 ? met : [...met, { source: 'suspect', rule: {}, suspects }]
}

/** A rule exempts a call only if its `when` is definitely false; a condition that cannot be evaluated on these arguments requires the approval. */
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

/** If the run has reached the maximum of open approvals: drafts that end the expired ones, or `full` if none has expired. */
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

// Calls that wait for a person while their run has an open suspect, and the suspects that the approval shows (JUD-65, JUD-66). Pure.

/** Maximum number of suspects listed in the reason of an approval, and maximum length of each path in it, in characters. */
const TOLD_MAX = 10
const TOLD_PATH_MAX_CHARS = 60

interface HeldClaim {
  readonly claim: ClaimCall
  readonly phase: Phase
  readonly actor: string
}

/** The suspects that a call waits for under `suspect: "hold"`. Calls without effects, model calls and compensations wait for none. */
function holdingSuspects(state: RunState, { claim, phase, actor }: HeldClaim): readonly SuspectState[] {
  if (state.suspects.length === 0 || phase !== 'forward' || claim.effects === 'none') return []
  const { manifest } = state.manifests[safeKey(claim.agent ?? actor)] ?? {}
  return withManifestPolicy(state.policy, manifest?.policy).suspect === 'hold' ? openSuspects(state) : []
}

/** Whether a pending or granted approval does not show one of these suspects to the people who decide on it. */
function hidesOf({ status, needs }: ApprovalState, suspects: readonly SuspectState[]): boolean {
  if (status !== 'pending' && status !== 'granted') return false
  const shown = new Set(needs.flatMap((need) => need.suspects ?? []))
  return suspects.some(({ id }) => !shown.has(id))
}

/** Whether an approval has become moot: only suspects required it, and each of them was explained or confirmed since. */
function isMoot({ suspects }: RunState, { status, needs }: ApprovalState): boolean {
  if (status !== 'pending' && status !== 'expired') return false
  const closed = new Set(suspects.flatMap((each) => (each.closed === undefined ? [] : [each.id])))
  return needs.every(({ source, suspects: shown = [] }) => source === 'suspect' && shown.every((id) => closed.has(id)))
}

function suspectNeed(suspects: readonly SuspectState[]): ApprovalNeed {
  const total = countSuspects(suspects)
  const told = suspects.slice(0, TOLD_MAX).map(toldOf).join('; ')
  const more = suspects.length > TOLD_MAX ? '; and more' : ''
  return {
    source: 'suspect',
    reason: `the run has ${total === 1 ? 'an open suspect' : `${total} open suspects`}: ${told}${more}`,
    quorum: 1,
    suspects: suspects.map(({ id }) => id),
  }
}

/** One suspect as text. A missing `after` means that the value was removed or is too long to show; the list of suspects has it. */
function toldOf({ id, path, agent, count, before, after }: SuspectState): string {
  if (count > 1 || path === '') return `${id} (${count} places of ${agent} that are not named)`
  const place = path.length <= TOLD_PATH_MAX_CHARS ? path : `${path.slice(0, TOLD_PATH_MAX_CHARS)}…`
  const change =
    before === undefined ? '' : ` ${JSON.stringify(before)} -> ${JSON.stringify(after) ?? '(gone or long)'}`
  return `${id} ${place}${change} (${agent})`
}
