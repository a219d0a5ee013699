/** @module The fold of approvals in a run: requests, decisions, and the claims that use them. */
import type { EventBody } from '../schemas/events.ts'
import type { Header } from '../schemas/header.ts'
import type { ApprovalState, Person } from './approval-state.ts'
import type { FoldTable } from './fold-table.ts'
import { type RunState, safeKey } from './run-state.ts'

export const APPROVAL_FOLDS = {
  ApprovalRequested: foldRequest,
  ApprovalGranted: (state, { approvalId, roles = [], complete }, header) => {
    const approval = state.approvals[safeKey(approvalId)]
    if (approval === undefined) return
    approval.grants.push({ ...personOf(header), roles, revision: header.revision })
    if (complete) decide(state, approval, { status: 'granted', revision: header.revision })
  },
  ApprovalDenied: (state, { approvalId, comment }, header) => {
    const approval = state.approvals[safeKey(approvalId)]
    if (approval === undefined) return
    approval.denial = { ...personOf(header), ...(comment === undefined ? {} : { comment }) }
    decide(state, approval, { status: 'denied', revision: header.revision })
  },
  ApprovalWithdrawn: (state, { approvalId }) => {
    const approval = state.approvals[safeKey(approvalId)]
    if (approval === undefined) return
    approval.grants.length = 0
    approval.status = 'pending'
    delete approval.decidedRevision
    state.pendingApprovals[safeKey(approvalId)] = true
  },
  ApprovalExpired: (state, { approvalId }, { revision }) =>
    decide(state, state.approvals[safeKey(approvalId)], { status: 'expired', revision }),
} satisfies Partial<FoldTable<RunState>>

function foldRequest(state: RunState, data: EventBody<'ApprovalRequested'>, header: Header): void {
  const { approvalId, key, tool, phase, argsDigest, generation, undoneBy, agent, scope } = data
  const { needs, expiresAt, selfApproval, onDenied } = data
  state.approvals[safeKey(approvalId)] = {
    ...{ approvalId, key, tool, phase, argsDigest, generation, needs, expiresAt, selfApproval, onDenied },
    ...(undoneBy === undefined ? {} : { undoneBy }),
    ...(agent === undefined ? {} : { agent }),
    ...(scope === undefined ? {} : { scope }),
    revision: header.revision,
    requestedAt: header.time,
    requestedBy: personOf(header),
    grants: [],
    status: 'pending',
  }
  state.approvalKeys[safeKey(`${phase} ${key}`)] = approvalId
  state.pendingApprovals[safeKey(approvalId)] = true
  if (agent !== undefined) state.agents[safeKey(agent)] = true
}

function decide(
  state: RunState,
  approval: ApprovalState | undefined,
  { status, revision }: { status: ApprovalState['status']; revision: number },
): void {
  if (approval === undefined) return
  approval.status = status
  approval.decidedRevision = revision
  delete state.pendingApprovals[safeKey(approval.approvalId)]
}

/** The claim that runs the call also uses up its approval: both are one append, so that no crash can separate them. */
export function useApproval(state: RunState, { approvalId = '', callId }: EventBody<'ToolCallClaimed'>): void {
  const approval = state.approvals[safeKey(approvalId)]
  if (approval === undefined) return
  approval.status = 'used'
  approval.callId = callId
}

export function personOf({ actor, principal, via }: Header): Person {
  return {
    actor,
    ...(principal === undefined ? {} : { principal }),
    ...(via === undefined ? {} : { via }),
  }
}
