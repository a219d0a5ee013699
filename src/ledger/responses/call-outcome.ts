/** @module What a call came to, as the event that ended it says. */
import { type MakeTable, makeBy, passOver } from '../../../projections/fold-table.ts'
import type { RecordedEvent } from '../../../projections/projection.ts'
import type { JsonObject } from '../../../schemas/json.ts'

/** Result, error, doubt or resolution; empty where the event ends no call. */
export function callOutcome(event: RecordedEvent): JsonObject {
  return makeBy(OUTCOMES, event, undefined) ?? {}
}

type OfType<T extends RecordedEvent['type']> = Extract<RecordedEvent, { type: T }>

const OUTCOMES = {
  ...passOver('ApprovalRequested', 'ApprovalGranted', 'ApprovalDenied', 'ApprovalWithdrawn', 'ApprovalExpired'),
  ...passOver('WaitStarted', 'SignalReceived', 'SignalPassedOver', 'WaitEnded'),
  ...passOver(
    'RunStarted',
    'RunResumed',
    'RunBranched',
    'ChildRunStarted',
    'RunCompleted',
    'RunFailed',
    'RunCompensated',
  ),
  ...passOver('RunKeyDisclosed', 'ManifestRegistered', 'RequestRefused', 'EnvelopeAccepted', 'EnvelopeRejected'),
  ...passOver(
    'JudgementRecorded',
    'SnapshotTaken',
    'RunRewound',
    'ToolCallClaimed',
    'ToolCallLeaseRenewed',
    'ResultNotRecorded',
  ),
  ...passOver('CompensationStarted', 'BudgetReserved', 'UsageRecorded', 'BudgetReleased', 'ReservationExpired'),
  ...passOver('BudgetExceeded', 'ForkStarted', 'BranchOffered', 'BranchReceived', 'ForkJoined'),
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

/** The arguments of a claim, or what names them. */
export function claimedArguments(event: RecordedEvent | undefined): JsonObject {
  if (event?.type !== 'ToolCallClaimed') return {}
  const { args, argsRef } = event.data
  return args === undefined ? { argsRef: argsRef as JsonObject } : { args }
}
