/** @module Answers that depend only on the events of a request: they can be repeated without reading the run, however long it has become. */

import { eachOf, ignore, type MakeTable, makeBy } from '../../../projections/fold-table.ts'
import type { RecordedEvent } from '../../../projections/projection.ts'
import type { RunEventType } from '../../../schemas/events.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { budgetExceeded } from '../../domain/limits.ts'
import { type Refusal, refusal } from '../../domain/refusal.ts'
import { inCanonicalOrder } from '../../signing/canonical-json.ts'
import { branchBody } from './fork-responses.ts'
import type { AnsweredEvent, CommandResponse } from './response-parts.ts'
import { signalBody } from './wait-responses.ts'

type EventResponse = { readonly body: JsonObject } | { readonly refusal: Refusal }

/** Undefined if the answer depends on the state of the run right after the events. */
export function responseOfEvents(events: readonly AnsweredEvent[], runId: string): CommandResponse | undefined {
  const main = mainOf(events)
  const response = makeBy<AnsweredEvent, undefined, EventResponse>(RESPONSES, main, undefined)
  if (response === undefined) return undefined
  if ('refusal' in response) return { kind: 'refusal', refusal: response.refusal }
  return { kind: 'body', created: true, body: Object.assign(placeOf(main, events, runId), response.body) }
}

const RESPONSES = {
  ...ignore(
    'RunStarted',
    'RunResumed',
    'RunLeft',
    'RunCarried',
    'RedactionChanged',
    'RunCompleted',
    'RunFailed',
    'RunCompensated',
    'SnapshotTaken',
  ),
  ...ignore('EnvelopeRejected', 'RunRewound', 'ForkStarted', 'ForkJoined', 'ResultNotRecorded'),
  ...ignore('ApprovalRequested', 'ApprovalGranted', 'ApprovalDenied', 'ApprovalWithdrawn', 'ApprovalExpired'),
  ...ignore('WaitStarted', 'SignalPassedOver', 'WaitEnded'),
  SignalReceived: (main) => ({ body: signalBody(main) }),
  ...ignore('ToolCallLeaseRenewed', 'ToolCallSucceeded', 'ToolCallFailed', 'ToolCallInDoubt', 'ToolCallResolved'),
  ...ignore('CompensationStarted', 'CompensationSucceeded', 'CompensationFailed', 'CompensationInDoubt'),
  ...ignore('BudgetReserved', 'UsageRecorded', 'BudgetReleased', 'ReservationExpired'),
  EnvelopeAccepted: (main) => ({ body: acceptedBody(main) }),
  JudgementRecorded: ({ data: { step, verdict } }) => ({ body: { step, verdict } }),
  ...ignore('SuspectReviewed'),
  ManifestRegistered: ({ data: { agent, hash } }) => ({ body: { agent, hash } }),
  ToolCallClaimed: (main) => ({ body: claimedBody(main) }),
  ...eachOf(
    (main: Extract<AnsweredEvent, { type: 'BranchOffered' | 'BranchReceived' }>): EventResponse => ({
      body: branchBody(main),
    }),
    'BranchOffered',
    'BranchReceived',
  ),
  RunKeyDisclosed: () => ({ body: {} }),
  ToolDefinitionsSeen: ({ data: { digest } }) => ({ body: { definitions: digest } }),
  CaptureGap: () => ({ body: {} }),
  RunBranched: ({ data: { run, atStep } }) => ({ body: { branch: run, atStep } }),
  ChildRunStarted: ({ data: { run, callId } }) => ({ body: { child: run, callId } }),
  RequestRefused: ({ data: { code, detail, pointer, evidence } }) => {
    const more = { ...(pointer === undefined ? {} : { pointer }), ...(evidence === undefined ? {} : { evidence }) }
    return { refusal: refusal(code as Refusal['code'], detail, more) }
  },
  BudgetExceeded: ({ data }) => ({ refusal: budgetExceeded(data) }),
} satisfies MakeTable<AnsweredEvent, undefined, EventResponse>

function acceptedBody(main: Extract<AnsweredEvent, { type: 'EnvelopeAccepted' }>): JsonObject {
  const { step, agent, mode, parent, context, confidence, findings, suspectsTotal, suspectsClosed } = main.data
  return {
    step,
    agent,
    mode,
    parent,
    contextDigest: context,
    ...(confidence === undefined ? {} : { confidence }),
    findings: findings === undefined ? [] : inCanonicalOrder(findings as readonly Json[]),
    ...(suspectsTotal !== undefined && { suspectsTotal }),
    ...(suspectsClosed !== undefined && { suspectsClosed: inCanonicalOrder(suspectsClosed) }),
  }
}

function claimedBody(main: Extract<AnsweredEvent, { type: 'ToolCallClaimed' }>): JsonObject {
  const { callId, fence, leaseUntil, leaseMs, key, attempt, generation, reservationId } = main.data
  return {
    status: 'claimed',
    claimedAt: main.header.time,
    ...{ callId, fence, leaseUntil, leaseMs, key, attempt, generation },
    ...(reservationId === undefined ? {} : { reservationId }),
  }
}

/** The event that the request asked for. For a join that is the ForkJoined event; the handoff after it is its result. */
export function mainOf(events: readonly AnsweredEvent[]): AnsweredEvent {
  const main = events.find(({ type }) => type === 'ForkJoined') ?? events.findLast((event) => !isConsequence(event))
  if (main === undefined) throw new TypeError('a request appends at least one event of its own')
  return main
}

/** The members with which every answer with a body begins. */
export function placeOf(main: AnsweredEvent, events: readonly AnsweredEvent[], runId: string): JsonObject {
  return { runId, revision: (events.at(-1) ?? main).header.revision, digest: main.digest }
}

/** Whether an event type is a side effect of a decision; the event that the request asked for comes before or after it. */
const CONSEQUENCES = {
  ...eachOf(false, 'ApprovalRequested', 'ApprovalGranted', 'ApprovalDenied', 'ApprovalWithdrawn', 'ApprovalExpired'),
  ...eachOf(false, 'WaitStarted', 'SignalReceived', 'SignalPassedOver', 'WaitEnded'),
  ...eachOf(true, 'SnapshotTaken', 'RunCompensated', 'ResultNotRecorded', 'RedactionChanged'),
  /** A side effect of a refused handoff; a manual rollback is requested. */
  RunRewound: 'contradiction',
  ...eachOf(
    false,
    'RunStarted',
    'RunResumed',
    'RunLeft',
    'RunCarried',
    'RunBranched',
    'ChildRunStarted',
    'RunCompleted',
    'RunFailed',
    'RunKeyDisclosed',
  ),
  ...eachOf(
    false,
    'JudgementRecorded',
    'SuspectReviewed',
    'ManifestRegistered',
    'RequestRefused',
    'EnvelopeAccepted',
    'EnvelopeRejected',
  ),
  ...eachOf(false, 'ToolCallClaimed', 'ToolCallLeaseRenewed', 'ToolCallSucceeded', 'ToolCallFailed'),
  ...eachOf(false, 'ToolCallInDoubt', 'ToolCallResolved', 'CompensationStarted', 'CompensationSucceeded'),
  ...eachOf(false, 'CompensationFailed', 'CompensationInDoubt', 'BudgetReserved', 'UsageRecorded', 'BudgetReleased'),
  ...eachOf(false, 'ReservationExpired', 'BudgetExceeded', 'ForkStarted', 'BranchOffered', 'BranchReceived'),
  ...eachOf(false, 'ForkJoined'),
  ...eachOf(false, 'ToolDefinitionsSeen', 'CaptureGap'),
} satisfies Record<RunEventType, boolean | 'contradiction'>

function isConsequence({ type, data }: RecordedEvent): boolean {
  const consequence = CONSEQUENCES[type]
  return consequence === 'contradiction' ? 'cause' in data && data.cause === consequence : consequence
}
