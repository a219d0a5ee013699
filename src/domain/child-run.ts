/** @module Child runs: runs that do the work of a call of another run, linked in both streams (RUN-56 to RUN-58). */
import { type RunState, safeKey } from '../../projections/run-state.ts'
import type { EventBody } from '../../schemas/events.ts'
import type { StartRun } from '../../schemas/requests.ts'
import { append, type Decision, mustBeOpen, mustNotCompensate, refuse } from './decision.ts'
import { type Refusal, refusal } from './refusal.ts'

/** Maximum nesting depth of runs; it stops a program that starts itself endlessly. */
export const RUN_DEPTH_MAX = 32

/** The parent call that a start request names. */
export type ParentClaim = NonNullable<StartRun['childOf']>

/** The position of the child below its parent, as recorded in the child's first event. */
export type ParentLink = NonNullable<EventBody<'RunStarted'>['childOf']>

/** The refusal if this call may not start or resume the run `childId`; undefined if it may. */
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

/** Records the child in its parent's stream before the child starts, so that after a crash in between no child run is unknown to its parent. */
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
