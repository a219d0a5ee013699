/** @module Facts that a decision meets or draws along; the event before or after them is what the request asked for. */
import { eachOf } from '../../../projections/fold-table.ts'
import type { RecordedEvent } from '../../../projections/projection.ts'
import type { RunEventType } from '../../../schemas/events.ts'

const CONSEQUENCES = {
  ...eachOf(true, 'SnapshotTaken', 'RunCompensated', 'ResultNotRecorded'),
  /** Of a refused handoff; a rollback by hand is asked for. */
  RunRewound: 'contradiction',
  ...eachOf(
    false,
    'RunStarted',
    'RunResumed',
    'RunBranched',
    'ChildRunStarted',
    'RunCompleted',
    'RunFailed',
    'RunKeyDisclosed',
  ),
  ...eachOf(false, 'JudgementRecorded', 'ManifestRegistered', 'RequestRefused', 'EnvelopeAccepted', 'EnvelopeRejected'),
  ...eachOf(false, 'ToolCallClaimed', 'ToolCallLeaseRenewed', 'ToolCallSucceeded', 'ToolCallFailed'),
  ...eachOf(false, 'ToolCallInDoubt', 'ToolCallResolved', 'CompensationStarted', 'CompensationSucceeded'),
  ...eachOf(false, 'CompensationFailed', 'CompensationInDoubt', 'BudgetReserved', 'UsageRecorded', 'BudgetReleased'),
  ...eachOf(false, 'ReservationExpired', 'BudgetExceeded', 'ForkStarted', 'BranchOffered', 'BranchReceived'),
  ...eachOf(false, 'ForkJoined'),
} satisfies Record<RunEventType, boolean | 'contradiction'>

export function isConsequence({ type, data }: RecordedEvent): boolean {
  const consequence = CONSEQUENCES[type]
  return consequence === 'contradiction' ? 'cause' in data && data.cause === consequence : consequence
}
