/** @module Answers as pure functions of the events of a request and the run right after them, so that the same answer can be made again (STR-15). */

import { eachOf, ignore, type MakeTable, makeBy } from '../../../projections/fold-table.ts'
import { type CallState, lastStep, type RunState, safeKey } from '../../../projections/run-state.ts'
import { openSuspectsTotal } from '../../../projections/run-suspects.ts'
import type { BudgetTotals } from '../../../schemas/answers/budget.ts'
import type { StartAnswer } from '../../../schemas/answers/runs.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { plain } from '../../../schemas/plain.ts'
import { inDoubt } from '../../domain/calls.ts'
import { compensationPlan } from '../../domain/compensation.ts'
import { refusal } from '../../domain/refusal.ts'
import { inCanonicalOrder } from '../../signing/canonical-json.ts'
import { mainOf, placeOf, responseOfEvents } from './event-responses.ts'
import { joinedBody, joinRefusal, startedForkBody } from './fork-responses.ts'
import type { AnsweredEvent, CommandResponse } from './response-parts.ts'
import { waitedFor } from './wait-responses.ts'

/** The answer to the request that appended `events`; `state` is the run right after them. */
export function responseTo(events: readonly AnsweredEvent[], state: RunState): CommandResponse {
  const alone = responseOfEvents(events, state.runId)
  if (alone !== undefined) return alone
  const main = mainOf(events)
  const refused = makeBy<AnsweredEvent, RequestEvents, CommandResponse | undefined>(REFUSALS, main, { events, state })
  if (refused !== undefined) return refused
  const body = {
    runId: state.runId,
    ...placeOf(main, events, state.runId),
    ...(main.type === 'ForkJoined' ? joinBody(main, events, state) : makeBy(BODIES, main, state)),
  }
  const waited = waitedFor(main, { events, state })
  if (waited !== undefined) return { kind: 'body', ...waited }
  if (main.type !== 'CompensationStarted') return { kind: 'body', created: main.type !== 'RunResumed', body }
  return { kind: 'body', created: true, body, plan: planOf(state, main.data.compensationId) }
}

interface RequestEvents {
  readonly events: readonly AnsweredEvent[]
  readonly state: RunState
}

/** Events that refuse a request and whose answer depends on the run. */
const REFUSALS = {
  ...ignore('ApprovalRequested', 'ApprovalGranted', 'ApprovalDenied', 'ApprovalWithdrawn', 'ApprovalExpired'),
  ...ignore('WaitStarted', 'SignalReceived', 'SignalPassedOver', 'WaitEnded'),
  ...ignore(
    'RunStarted',
    'RunResumed',
    'RunLeft',
    'RunCarried',
    'RunBranched',
    'ChildRunStarted',
    'RunCompleted',
    'RunFailed',
    'RunCompensated',
  ),
  ...ignore(
    'RedactionChanged',
    'RunKeyDisclosed',
    'ManifestRegistered',
    'EnvelopeAccepted',
    'SnapshotTaken',
    'RunRewound',
  ),
  ...ignore('ToolCallClaimed', 'ToolCallLeaseRenewed', 'ToolCallSucceeded', 'ToolCallFailed', 'ToolCallResolved'),
  ...ignore('ResultNotRecorded', 'CompensationStarted', 'CompensationSucceeded', 'CompensationFailed'),
  ...ignore('BudgetReserved', 'UsageRecorded', 'BudgetReleased', 'ReservationExpired', 'ForkStarted'),
  ...ignore('BranchOffered', 'BranchReceived', 'JudgementRecorded', 'SuspectReviewed', 'RequestRefused'),
  ...ignore('BudgetExceeded', 'ToolDefinitionsSeen', 'CaptureGap'),
  EnvelopeRejected: (main, { events, state }) => contradiction(main, events, state),
  ForkJoined: (main, { state }) =>
    main.data.outcome === 'joined' ? undefined : { kind: 'refusal', refusal: joinRefusal(main, state.runId) },
  ToolCallInDoubt: doubted,
  CompensationInDoubt: doubted,
} satisfies MakeTable<AnsweredEvent, RequestEvents, CommandResponse | undefined>

type InDoubt = Extract<AnsweredEvent, { type: 'ToolCallInDoubt' | 'CompensationInDoubt' }>

/** The request met a call whose lease had expired. A caller that itself reports an unknown outcome is not refused. */
function doubted({ data: { cause, callId } }: InDoubt, { state }: RequestEvents): CommandResponse | undefined {
  const call = cause === 'outcome-unknown' || cause === 'left' ? undefined : state.calls[safeKey(callId)]
  return call === undefined ? undefined : { kind: 'refusal', refusal: inDoubt(call) }
}

function contradiction(
  main: Extract<AnsweredEvent, { type: 'EnvelopeRejected' }>,
  events: readonly AnsweredEvent[],
  state: RunState,
): CommandResponse {
  const { findings, findingsTotal, confidence } = main.data
  const restoredStep = state.lineage.at(-1)
  const count = findingsTotal === 1 ? 'one finding' : `${findingsTotal} findings`
  return {
    kind: 'refusal',
    refusal: refusal('contradiction', `the handoff contradicts what was established (${count}); the run was rewound`, {
      evidence: {
        runId: state.runId,
        revision: events.at(-1)?.header.revision ?? main.header.revision,
        rejected: { revision: main.header.revision, digest: main.digest },
        ...(confidence === undefined ? {} : { confidence }),
        findings: inCanonicalOrder(findings as readonly Json[]),
        findingsTotal,
      },
    }),
    restored: {
      revision: restoredStep?.revision ?? 0,
      body: {
        step: restoredStep?.step ?? 0,
        revision: restoredStep?.revision ?? 0,
        digest: restoredStep?.digest ?? '',
        contextDigest: state.contextDigest,
        context: inCanonicalOrder(state.context),
      },
    },
  }
}

function joinBody(
  main: Extract<AnsweredEvent, { type: 'ForkJoined' }>,
  events: readonly AnsweredEvent[],
  state: RunState,
): JsonObject {
  const accepted = events.find((event) => event.type === 'EnvelopeAccepted')
  return accepted === undefined ? {} : joinedBody(main, accepted, state.context)
}

/** The members in addition to the place with which every answer begins. */
type Start = Omit<StartAnswer, 'runId' | 'revision' | 'digest'>

const BODIES = {
  // These are side effects of another event, or refusals.
  ...ignore('SnapshotTaken', 'RunCompensated', 'ResultNotRecorded', 'EnvelopeRejected', 'RequestRefused'),
  ...ignore('BudgetExceeded', 'ForkJoined', 'ReservationExpired', 'ApprovalRequested', 'ApprovalExpired'),
  // The answers to these depend on the events only: see `responseOfEvents`.
  ...ignore('EnvelopeAccepted', 'JudgementRecorded', 'ManifestRegistered', 'ToolCallClaimed', 'BranchOffered'),
  ...ignore('BranchReceived', 'RedactionChanged', 'RunKeyDisclosed', 'RunBranched', 'ChildRunStarted'),
  ...ignore('ToolDefinitionsSeen', 'CaptureGap'),
  ...ignore('WaitStarted', 'SignalReceived', 'SignalPassedOver', 'WaitEnded'),
  ...eachOf(decidedBody, 'ApprovalGranted', 'ApprovalDenied', 'ApprovalWithdrawn'),
  ...eachOf(callBody, 'ToolCallLeaseRenewed', 'ToolCallSucceeded', 'ToolCallFailed', 'ToolCallInDoubt'),
  ...eachOf(callBody, 'ToolCallResolved', 'CompensationSucceeded', 'CompensationFailed', 'CompensationInDoubt'),
  RunStarted: ({ header, data: { tenantPolicy } }, state): Start => ({
    ...{ name: state.name, status: 'open', step: state.step, fence: 1, startedAt: header.time },
    ...runOrigin(state),
    // The caller that started the run knows the rest of its declared policy.
    ...(tenantPolicy !== undefined && { policy: plain(state.policy) }),
  }),
  RunResumed: ({ data: { fence } }, state): Start => ({
    ...{ name: state.name, status: state.status, step: state.lineage.at(-1)?.step ?? 0, fence, resumed: true },
    ...runOrigin(state),
  }),
  RunRewound: rewoundBody,
  SuspectReviewed: ({ header, data: { suspects, decision, reason } }, state) => ({
    ...{ suspects, decision, reason, by: header.principal ?? header.actor },
    ...{ step: lastStep(state), contextDigest: state.contextDigest, openSuspects: openSuspectsTotal(state) },
  }),
  CompensationStarted: ({ data }, state) => compensationBody(state, data.compensationId),
  BudgetReserved: ({ data: { reservationId, agent, tokens, cost, deadline } }, state) => {
    return { reservationId, agent, tokens, cost, deadline, budget: budgetBody(state) }
  },
  UsageRecorded: ({ data: { usage, overshoot } }, state) => ({
    usage: inCanonicalOrder(usage as JsonObject),
    ...(overshoot && { overshoot }),
    budget: budgetBody(state),
  }),
  BudgetReleased: ({ data: { reservationId } }, state) => ({ reservationId, budget: budgetBody(state) }),
  ForkStarted: startedForkBody,
  RunLeft: ({ data: { because, until } }) => ({ because, ...(until !== undefined && { until }) }),
  RunCarried: ({ data: { fence } }) => ({ fence }),
  RunCompleted: (_, { status }) => ({ status }),
  RunFailed: (_, { status }) => ({ status }),
} satisfies MakeTable<AnsweredEvent, RunState, JsonObject>

/** The origin of a branch or a child. */
export function runOrigin({ branchOf, childOf }: RunState): Pick<StartAnswer, 'branchOf' | 'childOf'> {
  return {
    ...(branchOf === undefined ? {} : { branchOf: inCanonicalOrder(branchOf) }),
    ...(childOf === undefined ? {} : { childOf: inCanonicalOrder(childOf) }),
  }
}

function rewoundBody(main: Extract<AnsweredEvent, { type: 'RunRewound' }>, state: RunState): JsonObject {
  const { fromStep, toStep, context, callsSince } = main.data
  return {
    fromStep,
    toStep,
    contextDigest: context,
    context: inCanonicalOrder(state.context),
    callsSince,
    parent: state.lineage.at(-1)?.digest ?? '',
  }
}

/** The current state of an approval after a decision. */
function decidedBody(
  { data }: Extract<AnsweredEvent, { type: 'ApprovalGranted' | 'ApprovalDenied' | 'ApprovalWithdrawn' }>,
  state: RunState,
): JsonObject {
  const { approvalId, tool, argsDigest } = data
  return { approvalId, tool, argsDigest, status: state.approvals[safeKey(approvalId)]?.status ?? 'pending' }
}

/** The current state of a call after it was renewed, settled or resolved. */
function callBody(main: AnsweredEvent, state: RunState): JsonObject {
  const callId = 'callId' in main.data && typeof main.data.callId === 'string' ? main.data.callId : ''
  const call = state.calls[safeKey(callId)]
  if (call === undefined) return {}
  const { status, fence, attempt, generation, leaseUntil, leaseMs } = call
  const undone = call.compensates === undefined ? {} : { compensates: call.compensates }
  const renewed = main.type === 'ToolCallLeaseRenewed' ? { leaseUntil, leaseMs } : { endedAt: main.header.time }
  const run = state.status === 'open' ? {} : { runStatus: state.compensation ?? state.status }
  return { callId, status, fence, attempt, generation, ...renewed, ...undone, ...run }
}

/** The current state of a rollback. */
export function compensationBody(state: RunState, compensationId: string): JsonObject {
  const compensation = state.compensations.find((each) => each.compensationId === compensationId)
  const { scope } = compensation ?? {}
  const ofRun = scope === undefined ? { status: state.compensation ?? 'COMPENSATING' } : { scope }
  return { compensationId, ...ofRun, runStatus: state.status }
}

/** The actions of a rollback in their current state. */
export function planOf(state: RunState, compensationId: string): CallState[][] {
  const compensation = state.compensations.find((each) => each.compensationId === compensationId)
  return compensationPlan(state, compensation?.scope).map((group) => group.map((call) => ({ ...call })))
}

export function budgetBody(state: RunState): BudgetTotals {
  const { tokens, cost } = state.limits
  return {
    ...state.spend,
    ...(state.currency === undefined ? {} : { currency: state.currency }),
    limits: { ...(tokens === undefined ? {} : { tokens }), ...(cost === undefined ? {} : { cost: cost.limit }) },
  }
}
