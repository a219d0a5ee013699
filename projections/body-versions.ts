/**
 * @module Which versions of a body this build knows (REC-7). No catalogue is imported here, as folds run in the event server's engine too;
 * `test/schemas/events.test.ts` holds the table against the schemas.
 */
import type { EventType } from '../schemas/events.ts'

/** Types whose body has come in more versions than the first. */
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

/** Whether this build can fold a body. A snapshot is compared, never folded: one of another version is passed over (STR-10). */
export function canFold(type: string, version: unknown): boolean {
  return type === 'SnapshotTaken' || knowsBody(type, version)
}

export function knowsBody(type: string, version: unknown): boolean {
  return Number.isInteger(version) && Number(version) >= 1 && Number(version) <= latestBodyVersion(type)
}
