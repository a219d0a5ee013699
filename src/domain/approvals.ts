/** @module Decisions of people on a call that waits for approval: made once, on exactly its arguments, and in their own name (RUN-61, RUN-62). */
import type { ApprovalState, Person } from '../../projections/approval-state.ts'
import { type RunState, safeKey } from '../../projections/run-state.ts'
import type { ApprovalNeed, DecideApproval } from '../../schemas/approval.ts'
import { approvalExpired, expiredApproval, isExpired, usedRefusal } from './approval-gate.ts'
import {
  append,
  type Decision,
  type Env,
  mustBeOpen,
  mustNotCompensate,
  type Refused,
  refuse,
  refuseOnRecord,
} from './decision.ts'
import { type Refusal, refusal } from './refusal.ts'

interface OnApproval {
  readonly approvalId: string
  readonly body: DecideApproval
}

export function decideGrant(state: RunState, decision: OnApproval, env: Env): Decision {
  const found = decidable(state, decision, env)
  if ('kind' in found) return found
  const { approval } = found
  const fault = selfApproved(approval, env) ?? roleMissing(approval, env) ?? grantedTwice(approval, env)
  if (fault !== undefined) return refuseDecision(state, env, { ...decision, refused: fault })
  const grant = { ...personOf(env), roles: countedRoles(approval, env) }
  return append({
    type: 'ApprovalGranted',
    data: { ...decidedBody(approval, decision, env), complete: isComplete(approval, [...approval.grants, grant]) },
  })
}

/** One denial is enough; the requester may also deny the approval, to take the request back. */
export function decideDenial(state: RunState, decision: OnApproval, env: Env): Decision {
  const found = decidable(state, decision, env)
  if ('kind' in found) return found
  const { approval } = found
  const fault = isAsker(approval, env) ? undefined : roleMissing(approval, env)
  if (fault !== undefined) return refuseDecision(state, env, { ...decision, refused: fault })
  return append({ type: 'ApprovalDenied', data: decidedBody(approval, decision, env) })
}

/**
 * Withdraws a grant, full or partial, that was not used. Any caller who may decide on the approval may withdraw it. The call waits again,
 * with the same expiry.
 */
export function decideWithdrawal(state: RunState, decision: OnApproval, env: Env): Decision {
  const { approvalId, body } = decision
  const refused = (refusal: Refusal): Refused => refuseDecision(state, env, { ...decision, refused: refusal })
  const approval = state.approvals[safeKey(approvalId)]
  if (approval === undefined) return refused(notFound(approvalId))
  if (!isGranted(approval))
    return refused(approval.status === 'used' ? usedRefusal(approval) : nothingGranted(approval))
  const closed = mustGoOn(state, approval)
  if (closed !== undefined) return refuse(closed)
  if (isExpired(approval, state, env)) {
    return { ...refuse(approvalExpired(approval)), before: [expiredApproval(approval)] }
  }
  if (body.argsDigest !== approval.argsDigest) return refused(otherArguments(approval, body))
  const fault = roleMissing(approval, env)
  if (fault !== undefined) return refused(fault)
  return append({ type: 'ApprovalWithdrawn', data: decidedBody(approval, decision, env) })
}

/** Whether the approval has at least one grant, complete or not, and was not used. */
export function isGranted({
  status,
  grants,
}: {
  readonly status: string
  readonly grants: readonly unknown[]
}): boolean {
  return status === 'granted' || (status === 'pending' && grants.length > 0)
}

function notFound(approvalId: string): Refusal {
  return refusal('approval-not-found', `this run has no approval ${approvalId}`)
}

function nothingGranted({ approvalId, status }: ApprovalState): Refusal {
  return refusal(
    'approval-decided',
    `there is nothing to withdraw: the approval is ${status}, and no grant of it is valid`,
    {
      evidence: { approvalId, status },
    },
  )
}

function decidedBody({ approvalId, tool, argsDigest, needs }: ApprovalState, { body }: OnApproval, env: Env) {
  const roles = countedRoles({ needs }, env)
  return {
    ...{ v: 1 as const, approvalId, tool, argsDigest },
    ...(roles.length === 0 ? {} : { roles }),
    ...(body.comment === undefined ? {} : { comment: body.comment }),
  }
}

/** The refusal if the run or scope is closed; a compensation is exempt, because a rollback continues in a closed scope and after the end of the run. */
function mustGoOn(state: RunState, { phase, scope }: ApprovalState): Refusal | undefined {
  return phase === 'compensation' ? undefined : (mustBeOpen(state) ?? mustNotCompensate(state, scope))
}

/** The approval, if this caller may decide on it for these arguments; otherwise a recorded refusal. */
function decidable(state: RunState, decision: OnApproval, env: Env): { readonly approval: ApprovalState } | Refused {
  const { approvalId, body } = decision
  const refused = (refusal: Refusal): Refused => refuseDecision(state, env, { ...decision, refused: refusal })
  const approval = state.approvals[safeKey(approvalId)]
  if (approval === undefined) return refused(notFound(approvalId))
  if (approval.status !== 'pending') return refused(decidedAlready(approval))
  const closed = mustGoOn(state, approval)
  if (closed !== undefined) return refuse(closed)
  if (isExpired(approval, state, env)) {
    return { ...refuse(approvalExpired(approval)), before: [expiredApproval(approval)] }
  }
  return body.argsDigest === approval.argsDigest ? { approval } : refused(otherArguments(approval, body))
}

/** A refused decision is recorded as evidence that the gate works. */
function refuseDecision(
  state: RunState,
  env: Env,
  { approvalId, body, refused }: OnApproval & { readonly refused: Refusal },
): Refused {
  return refuseOnRecord(state, env, { refusal: refused, fingerprint: { approvalId, args: body.argsDigest } })
}

function decidedAlready({ approvalId, status }: ApprovalState): Refusal {
  return refusal('approval-decided', `there is nothing to decide: the approval is ${status}`, {
    evidence: { approvalId, status },
  })
}

function otherArguments({ approvalId, argsDigest }: ApprovalState, body: DecideApproval): Refusal {
  return refusal('approval-mismatch', 'the decision is on other arguments than the approval is about; read it again', {
    pointer: '/argsDigest',
    evidence: { approvalId, expected: argsDigest, actual: body.argsDigest },
  })
}

/** Whether the caller is the requester, or shares any name with those for whom or through whom the approval was requested. */
function isAsker({ requestedBy }: ApprovalState, env: Env): boolean {
  return isPersonOf(requestedBy, env)
}

/** Whether the caller shares a name with this person, directly or through a principal or an intermediary. */
export function isPersonOf(person: Person, env: Env): boolean {
  const names = namesOf(person)
  return namesOf(personOf(env)).some((name) => names.includes(name))
}

function selfApproved(approval: ApprovalState, env: Env): Refusal | undefined {
  const { approvalId, selfApproval } = approval
  if (selfApproval || !isAsker(approval, env)) return undefined
  return refusal('self-approval', 'who requested an approval cannot grant it; another person has to', {
    evidence: { approvalId },
  })
}

function grantedTwice({ approvalId, grants }: ApprovalState, env: Env): Refusal | undefined {
  const by = personOf(env)
  if (!grants.some((grant) => isNamedIn(grant, by) || isNamedIn(by, grant))) return undefined
  return refusal('approval-decided', 'you have approved this already; another person has to, too', {
    evidence: { approvalId, status: 'pending' },
  })
}

/** The refusal if none of the caller's roles counts for any of the needs. */
function roleMissing({ approvalId, needs }: ApprovalState, { roles: having = [] }: Env): Refusal | undefined {
  if (needs.some((need) => counts(need, having))) return undefined
  const roles = [...new Set(needs.flatMap((need) => need.roles ?? []))]
  return refusal(
    'approval-role-missing',
    `this takes a token with one of the roles ${roles.join(', ')}`.slice(0, 512),
    {
      evidence: { approvalId },
    },
  )
}

function personOf({ actor, principal, via }: Env): Person {
  return {
    actor,
    ...(principal === undefined ? {} : { principal }),
    ...(via === undefined ? {} : { via }),
  }
}

const namesOf = ({ actor, principal, via = [] }: Person): readonly string[] =>
  principal === undefined ? [actor, ...via] : [actor, principal, ...via]

/** The name that counts towards a quorum: a principal who acts through two agents counts once. */
const personIn = ({ actor, principal }: Person): string => principal ?? actor

/** Whether the counted name of `one` appears in `other`: as its counted name, or as an agent that acts for another principal. */
const isNamedIn = (one: Person, other: Person): boolean => namesOf(other).includes(personIn(one))

function counts({ roles }: ApprovalNeed, having: readonly string[]): boolean {
  return roles === undefined || roles.some((role) => having.includes(role))
}

/** The caller's roles that a need names; only these are recorded. */
function countedRoles({ needs }: Pick<ApprovalState, 'needs'>, { roles = [] }: Env): string[] {
  return roles.filter((role) => needs.some((need) => need.roles?.includes(role)))
}

/** Whether each need has its quorum; one person may count for several needs. */
function isComplete({ needs }: ApprovalState, grants: readonly { readonly roles: readonly string[] }[]): boolean {
  return needs.every((need) => grants.filter(({ roles }) => counts(need, roles)).length >= need.quorum)
}
