/**
 * @module The versions of event bodies that this build knows (REC-7). The catalogue is not imported, because folds also run in the event
 * server's engine; `test/schemas/events.test.ts` checks the table against the schemas.
 */
import type { EventType } from '../schemas/events.ts'

/** Latest body version of the types that have more than one. */
const LATEST = {
  ApprovalRequested: 2,
  EnvelopeAccepted: 2,
  RunStarted: 2,
  RunCompleted: 2,
  ToolCallClaimed: 2,
  ToolCallSucceeded: 2,
  ToolCallResolved: 2,
  CompensationSucceeded: 2,
  AccessRecorded: 2,
} satisfies { readonly [T in EventType]?: number }

export function latestBodyVersion(type: string): number {
  return Object.hasOwn(LATEST, type) ? LATEST[type as keyof typeof LATEST] : 1
}

/** Whether this build can fold a body. A SnapshotTaken is only compared, never folded, so any version of it is accepted (STR-10). */
export function canFold(type: string, version: unknown): boolean {
  return type === 'SnapshotTaken' || knowsBody(type, version)
}

export function knowsBody(type: string, version: unknown): boolean {
  return Number.isInteger(version) && Number(version) >= 1 && Number(version) <= latestBodyVersion(type)
}
