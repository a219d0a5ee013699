/** @module The outcome of a call, from the event that ended it. */
import { ignore, type MakeTable, makeBy } from '../../../projections/fold-table.ts'
import type { RecordedEvent } from '../../../projections/projection.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { lacks } from '../../../schemas/redacted-parts.ts'
import type { Redacted } from '../../../schemas/redaction.ts'

/** Result, error, doubt or resolution; empty if the event does not end a call. */
export function callOutcome(event: RecordedEvent): JsonObject {
  const outcome = makeBy(OUTCOMES, event, undefined) ?? {}
  const redacted = redactedOf(event)
  return redacted === undefined ? outcome : { ...outcome, resultRedacted: redacted }
}

/** The redacted parts of the event. */
function redactedOf({ data }: RecordedEvent): JsonObject | undefined {
  return 'redacted' in data ? (data.redacted as JsonObject | undefined) : undefined
}

/** Whether a part of the result itself was redacted. If only the evidence or reason of a call is redacted, its result is complete. */
export function lacksResult({ result, resultRef, resultRedacted }: JsonObject): boolean {
  if (result === undefined && resultRef === undefined) return false
  return lacks(resultRedacted as unknown as Redacted | undefined, 'result')
}

type OfType<T extends RecordedEvent['type']> = Extract<RecordedEvent, { type: T }>

const OUTCOMES = {
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
    'RequestRefused',
    'EnvelopeAccepted',
    'EnvelopeRejected',
  ),
  ...ignore(
    'JudgementRecorded',
    'SuspectReviewed',
    'SnapshotTaken',
    'RunRewound',
    'ToolCallClaimed',
    'ToolCallLeaseRenewed',
    'ResultNotRecorded',
  ),
  ...ignore('CompensationStarted', 'BudgetReserved', 'UsageRecorded', 'BudgetReleased', 'ReservationExpired'),
  ...ignore('BudgetExceeded', 'ForkStarted', 'BranchOffered', 'BranchReceived', 'ForkJoined'),
  ...ignore('ToolDefinitionsSeen', 'CaptureGap'),
  ToolCallSucceeded: succeeded,
  CompensationSucceeded: succeeded,
  ToolCallFailed: ({ data }) => ({ error: data.error as JsonObject }),
  CompensationFailed: ({ data }) => ({ error: data.error as JsonObject }),
  ToolCallInDoubt: unknown,
  CompensationInDoubt: unknown,
  ToolCallResolved: ({ data: { outcome, result, resultRef, evidence } }) => ({
    resolved: { outcome, evidence },
    ...(result === undefined ? {} : { result }),
    ...(resultRef && { resultRef: resultRef as JsonObject }),
  }),
} satisfies MakeTable<RecordedEvent, undefined, JsonObject>

function succeeded({ data }: OfType<'ToolCallSucceeded' | 'CompensationSucceeded'>): JsonObject {
  if (data.resultRef !== undefined) return { resultRef: data.resultRef as JsonObject }
  return { result: data.result ?? null, ...(data.unrecorded && { unrecorded: data.unrecorded as JsonObject }) }
}

function unknown({ data }: OfType<'ToolCallInDoubt' | 'CompensationInDoubt'>): JsonObject {
  return { unknown: { cause: data.cause, ...(data.reason && { reason: data.reason }) } }
}

/** The arguments of a claim, or the reference to them. */
export function claimedArguments(event: RecordedEvent | undefined): JsonObject {
  if (event?.type !== 'ToolCallClaimed') return {}
  const { args, argsRef, redacted } = event.data
  const known = args === undefined ? { argsRef: argsRef as JsonObject } : { args }
  return redacted === undefined ? known : { ...known, argsRedacted: redacted as unknown as JsonObject }
}
