/** @module Runs that are the work of a call of another run: linked in both streams (RUN-56 to RUN-58). */
import { type RunState, safeKey } from '../../projections/run-state.ts'
import type { EventBody } from '../../schemas/events.ts'
import type { StartRun } from '../../schemas/requests.ts'
import { append, type Decision, mustBeOpen, mustNotCompensate, refuse } from './decision.ts'
import { type Refusal, refusal } from './refusal.ts'

/** Runs below one another: a program that starts itself without an end is refused here. */
export const RUN_DEPTH_MAX = 32

/** What a start says of its parent. */
export type ParentClaim = NonNullable<StartRun['childOf']>

/** Where the child stands below its parent, as the child's first event says it. */
export type ParentLink = NonNullable<EventBody<'RunStarted'>['childOf']>

/** Why this call may not start a run, or take one up again; undefined where it may. `childId` is the run that it would be. */
export function childFault(state: RunState, { callId, fence }: ParentClaim, childId: string): Refusal | undefined {
  const call = state.calls[safeKey(callId)]
  if (call === undefined || call.phase !== 'forward') {
    return refusal('call-not-found', `the run ${state.runId} has no call ${callId}`, { pointer: '/childOf/callId' })
  }
  const closed = mustBeOpen(state) ?? mustNotCompensate(state, call.scope)
  if (closed !== undefined) return closed
  if (call.status !== 'claimed' || call.fence !== fence) {
    return refusal('stale-fence', 'only the latest claim of a call may start its run, and only before its outcome', {
      pointer: '/childOf/fence',
      evidence: { callId, status: call.status, expected: fence, actual: call.fence },
    })
  }
  const known = state.children[safeKey(callId)]
  if (known !== undefined && known !== childId) {
    return refusal('run-exists', 'this call has started another run: a call starts one', {
      pointer: '/id',
      evidence: { callId, run: known },
    })
  }
  return depthBelow(state) > RUN_DEPTH_MAX ? tooDeep() : undefined
}

/** Notes the child in its parent's stream, before the child begins: a crash in between leaves a child that is known, and none that is not. */
export function decideChildStarted(
  state: RunState,
  { childOf, run }: { readonly childOf: ParentClaim; readonly run: string },
): Decision {
  const fault = childFault(state, childOf, run)
  if (fault !== undefined) return refuse(fault)
  const { callId } = childOf
  if (state.children[safeKey(callId)] !== undefined) return { kind: 'as-is' }
  return append({ type: 'ChildRunStarted', data: { v: 1, callId, run } })
}

export function depthBelow({ childOf }: Pick<RunState, 'childOf'>): number {
  return (childOf?.depth ?? 0) + 1
}

function tooDeep(): Refusal {
  return refusal('recursive-call', `runs are nested deeper than ${RUN_DEPTH_MAX}: does a run start itself?`, {
    pointer: '/childOf/run',
  })
}
