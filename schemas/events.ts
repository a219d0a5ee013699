/**
 * @module The catalogue of all event types, defined in one file each in `events/`. Folds, answers, exports, the auditors' index and all
 * labels are derived from it, or decide about each type by a table that the compiler checks for completeness. A published body never
 * changes its meaning: add a type, or upcast on read.
 */
import type { z } from 'zod'
import type { EventType as Declared } from './event-type.ts'
import { AccessRecorded } from './events/access-recorded.ts'
import { ApprovalDenied } from './events/approval-denied.ts'
import { ApprovalExpired } from './events/approval-expired.ts'
import { ApprovalGranted } from './events/approval-granted.ts'
import { ApprovalRequested } from './events/approval-requested.ts'
import { ApprovalWithdrawn } from './events/approval-withdrawn.ts'
import { BranchOffered } from './events/branch-offered.ts'
import { BranchReceived } from './events/branch-received.ts'
import { BudgetExceeded } from './events/budget-exceeded.ts'
import { BudgetReleased } from './events/budget-released.ts'
import { BudgetReserved } from './events/budget-reserved.ts'
import { CaptureGap } from './events/capture-gap.ts'
import { CheckpointSigned } from './events/checkpoint-signed.ts'
import { CheckpointTimestamped } from './events/checkpoint-timestamped.ts'
import { ChildRunStarted } from './events/child-run-started.ts'
import { CompensationFailed } from './events/compensation-failed.ts'
import { CompensationInDoubt } from './events/compensation-in-doubt.ts'
import { CompensationStarted } from './events/compensation-started.ts'
import { CompensationSucceeded } from './events/compensation-succeeded.ts'
import { ConfigurationChanged } from './events/configuration-changed.ts'
import { EnvelopeAccepted } from './events/envelope-accepted.ts'
import { EnvelopeRejected } from './events/envelope-rejected.ts'
import { ErasureRequested } from './events/erasure-requested.ts'
import { ExportIssued } from './events/export-issued.ts'
import { ExportStarted } from './events/export-started.ts'
import { ForkJoined } from './events/fork-joined.ts'
import { ForkStarted } from './events/fork-started.ts'
import { HoldPlaced } from './events/hold-placed.ts'
import { HoldReleased } from './events/hold-released.ts'
import { IntegrityFaultFound } from './events/integrity-fault-found.ts'
import { JudgementRecorded } from './events/judgement-recorded.ts'
import { KeyRotated } from './events/key-rotated.ts'
import { LedgerCreated } from './events/ledger-created.ts'
import { LogKeyRotated } from './events/log-key-rotated.ts'
import { LossAcknowledged } from './events/loss-acknowledged.ts'
import { ManifestRegistered } from './events/manifest-registered.ts'
import { RedactionChanged } from './events/redaction-changed.ts'
import { RequestRefused } from './events/request-refused.ts'
import { ReservationExpired } from './events/reservation-expired.ts'
import { ResultNotRecorded } from './events/result-not-recorded.ts'
import { ReviewSigned } from './events/review-signed.ts'
import { RunBranched } from './events/run-branched.ts'
import { RunCarried } from './events/run-carried.ts'
import { RunCompensated } from './events/run-compensated.ts'
import { RunCompleted } from './events/run-completed.ts'
import { RunFailed } from './events/run-failed.ts'
import { RunKeyDisclosed } from './events/run-key-disclosed.ts'
import { RunLeft } from './events/run-left.ts'
import { RunResumed } from './events/run-resumed.ts'
import { RunRewound } from './events/run-rewound.ts'
import { RunStarted } from './events/run-started.ts'
import { RunsArchived } from './events/runs-archived.ts'
import { ServiceStarted } from './events/service-started.ts'
import { ServiceStopped } from './events/service-stopped.ts'
import { SignalPassedOver } from './events/signal-passed-over.ts'
import { SignalReceived } from './events/signal-received.ts'
import { SnapshotTaken } from './events/snapshot-taken.ts'
import { SubjectErased } from './events/subject-erased.ts'
import { SuspectReviewed } from './events/suspect-reviewed.ts'
import { TokenIssued } from './events/token-issued.ts'
import { TokenRevoked } from './events/token-revoked.ts'
import { ToolCallClaimed } from './events/tool-call-claimed.ts'
import { ToolCallFailed } from './events/tool-call-failed.ts'
import { ToolCallInDoubt } from './events/tool-call-in-doubt.ts'
import { ToolCallLeaseRenewed } from './events/tool-call-lease-renewed.ts'
import { ToolCallResolved } from './events/tool-call-resolved.ts'
import { ToolCallSucceeded } from './events/tool-call-succeeded.ts'
import { ToolDefinitionsSeen } from './events/tool-definitions-seen.ts'
import { UsageRecorded } from './events/usage-recorded.ts'
import { ValueStored } from './events/value-stored.ts'
import { WaitEnded } from './events/wait-ended.ts'
import { WaitStarted } from './events/wait-started.ts'

/** Events of a run, in its stream. */
export const RUN_EVENTS = {
  RunStarted,
  RunResumed,
  RunLeft,
  RunCarried,
  RedactionChanged,
  ManifestRegistered,
  EnvelopeAccepted,
  EnvelopeRejected,
  JudgementRecorded,
  SuspectReviewed,
  SnapshotTaken,
  RunRewound,
  ApprovalRequested,
  ApprovalGranted,
  ApprovalDenied,
  ApprovalWithdrawn,
  ApprovalExpired,
  WaitStarted,
  SignalReceived,
  SignalPassedOver,
  WaitEnded,
  ToolCallClaimed,
  ToolCallLeaseRenewed,
  ToolCallSucceeded,
  ToolCallFailed,
  ToolCallInDoubt,
  ToolCallResolved,
  ResultNotRecorded,
  ToolDefinitionsSeen,
  CaptureGap,
  CompensationStarted,
  CompensationSucceeded,
  CompensationFailed,
  CompensationInDoubt,
  BudgetReserved,
  UsageRecorded,
  BudgetReleased,
  ReservationExpired,
  BudgetExceeded,
  ForkStarted,
  BranchOffered,
  BranchReceived,
  ForkJoined,
  RequestRefused,
  RunBranched,
  ChildRunStarted,
  RunCompleted,
  RunFailed,
  RunCompensated,
  RunKeyDisclosed,
} as const satisfies Record<string, Declared>

/** Events of the ledger itself, including records of reads. */
export const LEDGER_EVENTS = {
  LedgerCreated,
  KeyRotated,
  LogKeyRotated,
  ServiceStarted,
  ServiceStopped,
  ConfigurationChanged,
  TokenIssued,
  CheckpointSigned,
  CheckpointTimestamped,
  IntegrityFaultFound,
  LossAcknowledged,
  ErasureRequested,
  SubjectErased,
  HoldPlaced,
  HoldReleased,
  RunsArchived,
  ReviewSigned,
  TokenRevoked,
  ExportStarted,
  ExportIssued,
  AccessRecorded,
  ValueStored,
} as const satisfies Record<string, Declared>

export const EVENTS = { ...RUN_EVENTS, ...LEDGER_EVENTS } as const

export type RunEventType = keyof typeof RUN_EVENTS
export type EventType = keyof typeof EVENTS
export type EventBody<T extends EventType> = z.infer<(typeof EVENTS)[T]['schema']>

/** A run event as folds and decisions receive it; narrow it by `type`. */
export type RunEvent = { [T in RunEventType]: { readonly type: T; readonly data: EventBody<T> } }[RunEventType]

export function isRunEventType(type: string): type is RunEventType {
  return Object.hasOwn(RUN_EVENTS, type)
}

/** The declaration of a type; undefined for a type unknown to this build. */
export function declarationOf(type: string): Declared | undefined {
  return Object.hasOwn(EVENTS, type) ? EVENTS[type as EventType] : undefined
}

/** The types whose declaration fits, in the order of the catalogue. */
export function typesThat(fits: (declared: Declared) => boolean): readonly EventType[] {
  return (Object.keys(EVENTS) as EventType[]).filter((type) => fits(EVENTS[type]))
}

/** Names under which events are reported to outside systems, such as `approval.requested`. */
export const ANNOUNCED: readonly string[] = Object.values<Declared>(EVENTS).flatMap(
  ({ announced }) => announced?.as ?? [],
)
