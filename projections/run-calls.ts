/** @module The fold of calls and compensations in a run. */
import type { CallStatus } from '../schemas/call-status.ts'
import type { EventBody } from '../schemas/events.ts'
import type { Header } from '../schemas/header.ts'
import type { FoldTable } from './fold-table.ts'
import { useApproval } from './run-approvals.ts'
import { type CallState, isUndoing, type RunState, safeKey } from './run-state.ts'

export const CALL_FOLDS = {
  ToolCallClaimed: foldClaim,
  ToolCallLeaseRenewed: foldRenewal,
  ToolCallSucceeded: (state, { callId }, { revision }) => settle(state, callId, { status: 'succeeded', revision }),
  ToolCallFailed: (state, { callId }, { revision }) => settle(state, callId, { status: 'failed', revision }),
  ToolCallInDoubt: (state, { callId }, { revision }) => settle(state, callId, { status: 'in-doubt', revision }),
  ToolCallResolved: foldResolved,
  ResultNotRecorded: (state, { callId }) => {
    state.unrecorded[safeKey(callId)] = true
  },
  CompensationStarted: (state, { compensationId, scope }, { revision }) => {
    state.compensations.push({ compensationId, ...(scope === undefined ? {} : { scope }), revision, ended: false })
  },
  CompensationSucceeded: (state, { callId, compensates, leftStanding }, { revision }) => {
    settle(state, callId, { status: 'succeeded', revision })
    markUndone(state, compensates, 'compensated', { leftStanding })
  },
  CompensationFailed: (state, { callId, compensates, willRetry }, { revision }) => {
    settle(state, callId, { status: 'failed', revision })
    markUndone(state, compensates, 'compensation-failed', { willRetry })
  },
  CompensationInDoubt: (state, { callId, compensates }, { revision }) => {
    settle(state, callId, { status: 'in-doubt', revision })
    markUndone(state, compensates, 'compensation-unknown')
  },
  RunCompensated: foldCompensated,
} satisfies Partial<FoldTable<RunState>>

function foldClaim(state: RunState, data: EventBody<'ToolCallClaimed'>, { revision }: Header): void {
  const { callId, fence, key, tool, phase, argsDigest, onUnknown, generation, attempt, leaseMs, leaseUntil } = data
  const before = state.calls[safeKey(callId)]
  const call: CallState = {
    ...optionalIdentity(data),
    ...(data.reservationId === undefined ? {} : { reservationId: data.reservationId }),
    ...(before?.possiblyTwice === undefined ? {} : { possiblyTwice: before.possiblyTwice }),
    callId,
    key,
    tool,
    phase,
    argsDigest,
    onUnknown,
    generation,
    claimRevision: revision,
    status: 'claimed',
    attempt,
    fence,
    leaseMs,
    leaseUntil,
    ...(data.owner === undefined ? {} : { owner: data.owner }),
    ...(data.approvalId === undefined ? {} : { approvalId: data.approvalId }),
  }
  useApproval(state, data)
  state.calls[safeKey(callId)] = call
  state.callKeys[safeKey(`${phase} ${key}`)] = callId
  state.openCalls[safeKey(callId)] = true
  if (before === undefined && phase === 'forward') state.forwardOrder.push(callId)
  if (data.agent !== undefined) state.agents[safeKey(data.agent)] = true
  if (data.compensates !== undefined) markUndone(state, data.compensates, 'compensating')
}

function optionalIdentity(data: EventBody<'ToolCallClaimed'>): Partial<CallState> {
  const { agent, scope, occurrence, group, parentCall, compensate, compensates } = data
  const { compensateUnknown, compensateFailed } = data
  return {
    ...(agent === undefined ? {} : { agent }),
    ...(scope === undefined ? {} : { scope }),
    ...(occurrence === undefined ? {} : { occurrence }),
    ...(group === undefined ? {} : { group }),
    ...(parentCall === undefined ? {} : { parentCall }),
    ...(compensate === undefined ? {} : { compensate }),
    ...(compensateUnknown === undefined ? {} : { compensateUnknown }),
    ...(compensateFailed === undefined ? {} : { compensateFailed }),
    ...(compensates === undefined ? {} : { compensates }),
  }
}

/** Marks active leases as ended by a resume; the next command that encounters such a call records it as an event. */
export function endLeases(state: RunState): void {
  for (const key of Object.keys(state.openCalls)) {
    const call = state.calls[key]
    if (call?.status === 'claimed') call.takenOver = true
  }
}

function foldRenewal(state: RunState, data: EventBody<'ToolCallLeaseRenewed'>): void {
  const call = state.calls[safeKey(data.callId)]
  if (call === undefined) return
  call.leaseMs = data.leaseMs
  call.leaseUntil = data.leaseUntil
}

function settle(state: RunState, callId: string, outcome: { status: CallStatus; revision: number }): void {
  const call = state.calls[safeKey(callId)]
  if (call === undefined) return
  call.outcomeRevision = outcome.revision
  delete call.owner
  delete call.takenOver
  if (outcome.status === 'in-doubt') call.unknownOutcome = true
  else delete call.unknownOutcome
  // An outcome that arrives during the compensation of the call ends the doubt, not the compensation.
  if (isUndoing(call.status)) return
  call.status = outcome.status
  if (outcome.status !== 'in-doubt') delete state.openCalls[safeKey(callId)]
}

function foldResolved(state: RunState, data: EventBody<'ToolCallResolved'>, { revision }: Header): void {
  const call = state.calls[safeKey(data.callId)]
  if (call === undefined) return
  const executed = data.outcome !== 'not-executed'
  const status = data.outcome === 'compensated' ? 'compensated' : executed ? 'succeeded' : 'failed'
  settle(state, data.callId, { status, revision })
  call.resolved = true
  if (call.compensates !== undefined) {
    markUndone(state, call.compensates, executed ? 'compensated' : 'compensation-failed')
  }
}

function markUndone(
  state: RunState,
  callId: string,
  status: CallStatus,
  {
    willRetry,
    leftStanding,
  }: { readonly willRetry?: boolean | undefined; readonly leftStanding?: true | undefined } = {},
): void {
  const call = state.calls[safeKey(callId)]
  if (call === undefined) return
  call.status = status
  delete state.openCalls[safeKey(callId)]
  if (leftStanding === true) call.leftStanding = true
  else delete call.leftStanding
  if (willRetry === true) call.willRetry = true
  else delete call.willRetry
}

function foldCompensated(state: RunState, data: EventBody<'RunCompensated'>): void {
  const compensation = state.compensations.find((each) => each.compensationId === data.compensationId)
  if (compensation !== undefined) compensation.ended = true
  state.status = 'compensated'
  state.compensation = data.status
}
