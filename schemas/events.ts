/** @module Every event type with the schema of its body. A published body never changes meaning: add a type, or upcast on read. */
import type { z } from 'zod'
import { AccessRecorded } from './events/access-events.ts'
import {
  BudgetExceeded,
  BudgetReleased,
  BudgetReserved,
  ReservationExpired,
  UsageRecorded,
} from './events/budget-events.ts'
import {
  CompensationFailed,
  CompensationInDoubt,
  CompensationStarted,
  CompensationSucceeded,
  ResultNotRecorded,
  RunCompensated,
  ToolCallClaimed,
  ToolCallFailed,
  ToolCallInDoubt,
  ToolCallLeaseRenewed,
  ToolCallResolved,
  ToolCallSucceeded,
} from './events/call-events.ts'
import { EnvelopeAccepted, EnvelopeRejected, RunRewound, SnapshotTaken } from './events/envelope-events.ts'
import { BranchOffered, BranchReceived, ForkJoined, ForkStarted } from './events/fork-events.ts'
import { CheckpointSigned, ExportIssued, ExportStarted, KeyRotated, LedgerCreated } from './events/ledger-events.ts'
import {
  ManifestRegistered,
  RequestRefused,
  RunBranched,
  RunCompleted,
  RunFailed,
  RunKeyDisclosed,
  RunResumed,
  RunStarted,
} from './events/run-events.ts'

export const RUN_EVENTS = {
  RunStarted,
  RunResumed,
  ManifestRegistered,
  EnvelopeAccepted,
  EnvelopeRejected,
  SnapshotTaken,
  RunRewound,
  ToolCallClaimed,
  ToolCallLeaseRenewed,
  ToolCallSucceeded,
  ToolCallFailed,
  ToolCallInDoubt,
  ToolCallResolved,
  ResultNotRecorded,
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
  RunCompleted,
  RunFailed,
  RunCompensated,
  RunKeyDisclosed,
} as const

export const LEDGER_EVENTS = {
  LedgerCreated,
  KeyRotated,
  CheckpointSigned,
  ExportStarted,
  ExportIssued,
  AccessRecorded,
} as const
export const EVENTS = { ...RUN_EVENTS, ...LEDGER_EVENTS } as const

export type RunEventType = keyof typeof RUN_EVENTS
export type EventType = keyof typeof EVENTS
export type EventBody<T extends EventType> = z.infer<(typeof EVENTS)[T]>

/** A run event as folds and decisions see it: narrow by `type`. */
export type RunEvent = { [T in RunEventType]: { readonly type: T; readonly data: EventBody<T> } }[RunEventType]

export function isRunEventType(type: string): type is RunEventType {
  return Object.hasOwn(RUN_EVENTS, type)
}
