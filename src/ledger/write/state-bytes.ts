/** @module What an event leaves in the state of its run, in bytes of memory. */
import { eachOf } from '../../../projections/fold-table.ts'
import type { RecordedEvent } from '../../../projections/projection.ts'
import type { RunEventType } from '../../../schemas/events.ts'
import { weigh } from '../../resources/weigh.ts'

const EVENT_BYTES = 300
const CALL_BYTES = 1_500

/** `whole`: beside what any event leaves, the body itself. */
const LEFT_BYTES = {
  ...eachOf(0, 'UsageRecorded', 'ToolCallLeaseRenewed', 'SnapshotTaken'),
  ...eachOf(CALL_BYTES, 'ToolCallClaimed', 'CompensationStarted'),
  ...eachOf('whole', 'JudgementRecorded', 'ManifestRegistered', 'ForkStarted'),
  ...eachOf(
    EVENT_BYTES,
    'RunStarted',
    'RunResumed',
    'RunBranched',
    'ChildRunStarted',
    'RunCompleted',
    'RunFailed',
    'RunCompensated',
  ),
  ...eachOf(EVENT_BYTES, 'RunKeyDisclosed', 'RequestRefused', 'EnvelopeAccepted', 'EnvelopeRejected', 'RunRewound'),
  ...eachOf(EVENT_BYTES, 'ToolCallSucceeded', 'ToolCallFailed', 'ToolCallInDoubt', 'ToolCallResolved'),
  ...eachOf(EVENT_BYTES, 'ResultNotRecorded', 'CompensationSucceeded', 'CompensationFailed', 'CompensationInDoubt'),
  ...eachOf(EVENT_BYTES, 'BudgetReserved', 'BudgetReleased', 'ReservationExpired', 'BudgetExceeded'),
  ...eachOf(EVENT_BYTES, 'BranchOffered', 'BranchReceived', 'ForkJoined'),
} satisfies Record<RunEventType, number | 'whole'>

/** Arguments, results and payloads do not stay in the state; what an agent registers does, whole. */
export function stateBytesOf({ type, data }: RecordedEvent): number {
  const left = LEFT_BYTES[type]
  return left === 'whole' ? EVENT_BYTES + weigh(data) : left
}
