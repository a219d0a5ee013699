/** @module Rollback: which calls are undone, in which order, and how the rollback ended (RUN-28 to RUN-33). */

import { type CallState, isUndoing, type RunState, safeKey } from '../../projections/run-state.ts'
import type { CallStatus } from '../../schemas/call-status.ts'
import type { EventBody } from '../../schemas/events.ts'
import type { StartCompensation } from '../../schemas/requests.ts'
import { append, covers, type Decision, type Draft, type Env, mustOwn, refuse } from './decision.ts'
import { leasesOver, type PendingOutcome } from './lease.ts'

/** Maximum nesting depth of calls; deeper ones are refused, so that every walk over ancestors is bounded. */
export const ANCESTORS_MAX = 256

/** The calls in their current state, or in the state after the pending outcomes are folded. */
interface View {
  readonly forwardOrder: readonly string[]
  readonly callOf: (callId: string) => CallState | undefined
  /** Cache of ancestor answers by call id, so that calls with common ancestors do not walk up to them again. */
  readonly answered: Map<string, boolean>
}

/** Closes the scope and fixes the plan. A repeat for the same scope is answered by the running rollback. */
export function decideCompensation(state: RunState, body: StartCompensation, env: Env): Decision {
  if (state.compensations.some((each) => each.scope === body.scope)) return { kind: 'as-is' }
  const takenOver = state.status === 'open' ? mustOwn(state, body.runFence) : undefined
  if (takenOver !== undefined) return refuse(takenOver)
  const expired = forwardLeasesOver(state, env).filter(({ call }) => covers(body.scope, call.scope))
  const view = viewOf(state, expired)
  const compensationId = env.newId()
  const started: Draft = {
    type: 'CompensationStarted',
    data: {
      v: 1,
      compensationId,
      reason: body.reason,
      ...(body.error === undefined ? {} : { error: body.error }),
      ...(body.aborted === undefined ? {} : { aborted: body.aborted }),
      ...(body.scope === undefined ? {} : { scope: body.scope }),
      plan: planOf(view, body.scope).map((group) => group.map((call) => call.callId)),
    },
  }
  const end = body.scope === undefined ? endOf(view, compensationId) : []
  return append(...expired.map(({ draft }) => draft), started, ...end)
}

/** The order of a rollback: newest group first; the calls of one group are undone in parallel. */
export function compensationPlan(state: RunState, scope: string | undefined): CallState[][] {
  return planOf(viewOf(state, []), scope)
}

function planOf(view: View, scope: string | undefined): CallState[][] {
  const groups: CallState[][] = []
  const byName = new Map<string, CallState[]>()
  for (const call of forwardCalls(view, scope).reverse()) {
    if (!isUndoable(view, call)) continue
    const name = call.group === undefined ? undefined : `${call.scope ?? ''}\n${call.group}`
    const group = name === undefined ? undefined : byName.get(name)
    if (group !== undefined) {
      group.push(call)
      continue
    }
    const opened = [call]
    groups.push(opened)
    if (name !== undefined) byName.set(name, opened)
  }
  return groups
}

function forwardCalls(view: View, scope: string | undefined): CallState[] {
  return view.forwardOrder
    .map(view.callOf)
    .filter((call): call is CallState => call !== undefined && covers(scope, call.scope))
}

/** Whether a rollback undoes the call: the call can be undone, and it was executed (or may have been, and its tool also undoes that). */
export function isInPlan(state: RunState, call: CallState): boolean {
  return isUndoable(viewOf(state, []), call)
}

function isUndoable(view: View, call: CallState): boolean {
  if (call.phase !== 'forward' || call.compensate === 'none' || call.compensate === 'not-needed') return false
  const happened = call.status === 'succeeded' || isUndoing(call.status)
  const mayHaveHappened =
    (call.status === 'in-doubt' && call.compensateUnknown === true) ||
    (call.status === 'failed' && call.compensateFailed === true)
  return (happened || mayHaveHappened) && !answeredByAncestor(view, call)
}

/** Whether an ancestor that names a compensation covers this call. */
function answeredByAncestor(view: View, call: CallState): boolean {
  const below: string[] = []
  let isAnswered: boolean | undefined
  for (let at: CallState | undefined = call; isAnswered === undefined; ) {
    const known = view.answered.get(at.callId)
    const parent: CallState | undefined = at.parentCall === undefined ? undefined : view.callOf(at.parentCall)
    below.push(at.callId)
    if (known !== undefined) isAnswered = known
    else if (parent === undefined || below.length > ANCESTORS_MAX) isAnswered = false
    else if (typeof parent.compensate === 'object' && parent.status !== 'failed') isAnswered = true
    else at = parent
  }
  for (const callId of below) view.answered.set(callId, isAnswered)
  return isAnswered
}

export interface RollbackStep {
  /** Drafts for forward calls with an expired lease; they are appended before the pending outcome. */
  readonly expired: readonly Draft[]
  /** RunCompensated, if the pending outcome is the last one missing. */
  readonly end: readonly Draft[]
}

/**
 * The effect of an outcome on the rollback of the run, if there is one; a rollback of a scope below the run is not affected. A forward
 * call that was in flight joins the plan with its outcome; a verdict that changes later ends the rollback again.
 */
export function rollbackStep(state: RunState, outcome: PendingOutcome, env: Env): RollbackStep {
  if (!state.compensations.some((each) => each.scope === undefined)) return { expired: [], end: [] }
  const expired = forwardLeasesOver(state, env).filter(({ call }) => call.callId !== outcome.call.callId)
  return { expired: expired.map(({ draft }) => draft), end: endOfRollback(state, [...expired, outcome]) }
}

/** The end of the run's rollback, if these outcomes are the last ones missing. */
export function endOfRollback(state: RunState, outcomes: readonly PendingOutcome[]): Draft[] {
  const compensation = state.compensations.find((each) => each.scope === undefined)
  if (compensation === undefined || outcomes.every(({ call }) => call.phase === 'model')) return []
  return endOf(viewOf(state, outcomes), compensation.compensationId)
}

function forwardLeasesOver(state: RunState, env: Env): PendingOutcome[] {
  return leasesOver(state, env).filter(({ call }) => call.phase === 'forward')
}

function viewOf(state: RunState, outcomes: readonly PendingOutcome[]): View {
  const changed = new Map(outcomes.flatMap((outcome) => withOutcome(state, outcome)))
  return {
    forwardOrder: state.forwardOrder,
    callOf: (callId) => changed.get(callId) ?? state.calls[safeKey(callId)],
    answered: new Map(),
  }
}

/** The forward call as it will be after the outcome; a copy, because a decision must not change the state it receives. */
function withOutcome(state: RunState, { call, draft }: PendingOutcome): [string, CallState][] {
  const target = call.compensates === undefined ? call : state.calls[safeKey(call.compensates)]
  if (target === undefined) return []
  const status = call.compensates === undefined ? forwardStatus(target, draft) : undoneStatus(draft)
  const willRetry = draft.type === 'CompensationFailed' && draft.data.willRetry === true
  const { leftStanding: _, ...known } = target
  const leavesStanding = draft.type === 'CompensationSucceeded' && draft.data.leftStanding === true
  return [[target.callId, { ...known, status, willRetry, ...(leavesStanding && { leftStanding: true as const }) }]]
}

function forwardStatus(call: CallState, draft: Draft): CallStatus {
  if (isUndoing(call.status)) return call.status
  if (draft.type === 'ToolCallSucceeded') return 'succeeded'
  if (draft.type === 'ToolCallFailed') return 'failed'
  if (draft.type !== 'ToolCallResolved') return 'in-doubt'
  if (draft.data.outcome === 'compensated') return 'compensated'
  return draft.data.outcome === 'executed' ? 'succeeded' : 'failed'
}

function undoneStatus(draft: Draft): CallStatus {
  if (draft.type === 'CompensationSucceeded') return 'compensated'
  if (draft.type === 'CompensationFailed') return 'compensation-failed'
  if (draft.type !== 'ToolCallResolved') return 'compensation-unknown'
  return draft.data.outcome === 'not-executed' ? 'compensation-failed' : 'compensated'
}

type Verdict = 'compensated' | 'failed' | 'unknown' | 'pending'

function endOf(view: View, compensationId: string): Draft[] {
  // Oldest first: a rollback works backwards, so the oldest calls usually show that the rollback is not finished.
  for (const callId of view.forwardOrder) {
    const call = view.callOf(callId)
    if (call?.status === 'claimed') return []
    if (call !== undefined && isUndoable(view, call) && verdictOf(call) === 'pending') return []
  }
  const forward = forwardCalls(view, undefined)
  const plan = new Set(planOf(view, undefined).flat())
  const having = (verdict: Verdict) =>
    [...plan].filter((call) => verdictOf(call) === verdict && call.leftStanding !== true).map((call) => call.callId)
  const doubtful = forward.filter((call) => call.status === 'in-doubt' && !plan.has(call)).map((call) => call.callId)
  const lists = {
    compensated: having('compensated'),
    standing: forward.filter((call) => isStanding(view, call)).map((call) => call.callId),
    failed: having('failed'),
    unknown: [...having('unknown'), ...doubtful],
  }
  return [{ type: 'RunCompensated', data: { v: 1, compensationId, status: statusOf(lists), ...lists } }]
}

/** The verdict on a call of the plan; an in-doubt call is still to be undone. */
function verdictOf(call: CallState): Verdict {
  if (call.status === 'compensated') return 'compensated'
  if (call.status === 'compensation-failed') return call.willRetry === true ? 'pending' : 'failed'
  return call.status === 'compensation-unknown' ? 'unknown' : 'pending'
}

/** Whether the call was executed and is not undone, or only in part. */
function isStanding(view: View, call: CallState): boolean {
  if (call.leftStanding === true) return call.status === 'compensated'
  return call.status === 'succeeded' && call.compensate === 'none' && !answeredByAncestor(view, call)
}

function statusOf(lists: {
  readonly standing: readonly string[]
  readonly failed: readonly string[]
  readonly unknown: readonly string[]
}): EventBody<'RunCompensated'>['status'] {
  if (lists.unknown.length > 0) return 'IN_DOUBT'
  if (lists.failed.length > 0) return 'COMPENSATION_FAILED'
  return lists.standing.length > 0 ? 'PARTLY_COMPENSATED' : 'COMPENSATED'
}
