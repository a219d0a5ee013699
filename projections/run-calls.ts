/** @module The part of a run's fold that follows calls and compensations. */
import type { EventBody } from '../schemas/events.ts'
import type { RecordedEvent } from './projection.ts'
import { type CallState, type CallStatus, isUndoing, type RunState, slot } from './run-state.ts'

export function foldCalls(state: RunState, event: RecordedEvent): void {
  const { revision } = event.header
  switch (event.type) {
    case 'ToolCallClaimed':
      foldClaim(state, event.data, revision)
      return
    case 'ToolCallLeaseRenewed':
      foldRenewal(state, event.data)
      return
    case 'ToolCallSucceeded':
      settle(state, event.data.callId, { status: 'succeeded', revision })
      return
    case 'ToolCallFailed':
      settle(state, event.data.callId, { status: 'failed', revision })
      return
    case 'ToolCallInDoubt':
      settle(state, event.data.callId, { status: 'in-doubt', revision })
      return
    case 'ToolCallResolved':
      foldResolved(state, event.data, revision)
      return
    case 'ResultNotRecorded':
      state.unrecorded[slot(event.data.callId)] = true
      return
    case 'CompensationStarted':
      state.compensations.push({
        compensationId: event.data.compensationId,
        ...(event.data.scope === undefined ? {} : { scope: event.data.scope }),
        revision,
        ended: false,
      })
      return
    case 'CompensationSucceeded':
      settle(state, event.data.callId, { status: 'succeeded', revision })
      markUndone(state, event.data.compensates, 'compensated')
      return
    case 'CompensationFailed':
      settle(state, event.data.callId, { status: 'failed', revision })
      markUndone(state, event.data.compensates, 'compensation-failed', event.data.willRetry)
      return
    case 'CompensationInDoubt':
      settle(state, event.data.callId, { status: 'in-doubt', revision })
      markUndone(state, event.data.compensates, 'compensation-unknown')
      return
    case 'RunCompensated':
      foldCompensated(state, event.data)
      return
    default:
      return
  }
}

function foldClaim(state: RunState, data: EventBody<'ToolCallClaimed'>, revision: number): void {
  const { callId, fence, key, tool, phase, argsDigest, onUnknown, generation, attempt, leaseMs, leaseUntil } = data
  const before = state.calls[slot(callId)]
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
  }
  state.calls[slot(callId)] = call
  state.callKeys[slot(`${phase} ${key}`)] = callId
  state.openCalls[slot(callId)] = true
  if (before === undefined && phase === 'forward') state.forwardOrder.push(callId)
  if (data.agent !== undefined) state.agents[slot(data.agent)] = true
  if (data.compensates !== undefined) markUndone(state, data.compensates, 'compensating')
}

function optionalIdentity(data: EventBody<'ToolCallClaimed'>): Partial<CallState> {
  const { agent, scope, occurrence, group, parentCall, compensate, compensateUnknown, compensates } = data
  return {
    ...(agent === undefined ? {} : { agent }),
    ...(scope === undefined ? {} : { scope }),
    ...(occurrence === undefined ? {} : { occurrence }),
    ...(group === undefined ? {} : { group }),
    ...(parentCall === undefined ? {} : { parentCall }),
    ...(compensate === undefined ? {} : { compensate }),
    ...(compensateUnknown === undefined ? {} : { compensateUnknown }),
    ...(compensates === undefined ? {} : { compensates }),
  }
}

function foldRenewal(state: RunState, data: EventBody<'ToolCallLeaseRenewed'>): void {
  const call = state.calls[slot(data.callId)]
  if (call === undefined) return
  call.leaseMs = data.leaseMs
  call.leaseUntil = data.leaseUntil
}

function settle(state: RunState, callId: string, outcome: { status: CallStatus; revision: number }): void {
  const call = state.calls[slot(callId)]
  if (call === undefined) return
  call.outcomeRevision = outcome.revision
  if (outcome.status === 'in-doubt') call.unknownOutcome = true
  else delete call.unknownOutcome
  // An outcome that comes while the call is being undone ends the doubt, not the undoing.
  if (isUndoing(call.status)) return
  call.status = outcome.status
  if (outcome.status !== 'in-doubt') delete state.openCalls[slot(callId)]
}

function foldResolved(state: RunState, data: EventBody<'ToolCallResolved'>, revision: number): void {
  const call = state.calls[slot(data.callId)]
  if (call === undefined) return
  const executed = data.outcome !== 'not-executed'
  const status = data.outcome === 'compensated' ? 'compensated' : executed ? 'succeeded' : 'failed'
  settle(state, data.callId, { status, revision })
  if (call.compensates !== undefined) {
    markUndone(state, call.compensates, executed ? 'compensated' : 'compensation-failed')
  }
}

function markUndone(state: RunState, callId: string, status: CallStatus, willRetry = false): void {
  const call = state.calls[slot(callId)]
  if (call === undefined) return
  call.status = status
  delete state.openCalls[slot(callId)]
  if (willRetry) call.willRetry = true
  else delete call.willRetry
}

function foldCompensated(state: RunState, data: EventBody<'RunCompensated'>): void {
  const compensation = state.compensations.find((each) => each.compensationId === data.compensationId)
  if (compensation !== undefined) compensation.ended = true
  state.status = 'compensated'
  state.compensation = data.status
}
