/** @module Bodies of tool calls, from claim to outcome, and of compensation (RUN-1 to RUN-33). */
import { z } from 'zod'
import { Digest, Name } from '../names.ts'
import { Failure, JsonValue, OnUnknown, Phase, Scope, Uuid } from '../values.ts'

const identity = {
  callId: Uuid,
  fence: z.int().min(1),
}

/** How a call is undone: by which tool, by nobody (`none`), or there is nothing to undo. Absent: the caller decides at rollback. */
export const Compensate = z.union([z.enum(['not-needed', 'none']), z.strictObject({ tool: Name })])

export const ToolCallClaimed = z.strictObject({
  v: z.literal(1),
  ...identity,
  key: z.string().min(1).max(512),
  tool: Name,
  phase: Phase,
  args: JsonValue,
  argsDigest: Digest,
  agent: Name.optional(),
  scope: Scope.optional(),
  occurrence: z.int().min(0).optional(),
  group: Name.optional(),
  attempt: z.int().min(1),
  generation: z.int().min(1),
  leaseMs: z.int().min(1),
  leaseUntil: z.string(),
  onUnknown: OnUnknown,
  compensate: Compensate.optional(),
  compensateUnknown: z.boolean().optional(),
  parentCall: Uuid.optional(),
  /** Forward call that this one undoes; only where `phase` is `compensation`. */
  compensates: Uuid.optional(),
  reservationId: Uuid.optional(),
})

export const ToolCallLeaseRenewed = z.strictObject({
  v: z.literal(1),
  ...identity,
  leaseMs: z.int().min(1),
  leaseUntil: z.string(),
})

const succeeded = {
  v: z.literal(1),
  ...identity,
  result: JsonValue.optional(),
  /** The tool ran, its result could not be recorded. */
  unrecorded: z.strictObject({ reason: z.string().max(1024) }).optional(),
}
const failed = {
  v: z.literal(1),
  ...identity,
  error: Failure,
}
const inDoubt = {
  v: z.literal(1),
  ...identity,
  cause: z.enum(['lease-expired', 'outcome-unknown']),
  reason: z.string().max(1024).optional(),
}

export const ToolCallSucceeded = z.strictObject(succeeded)
export const ToolCallFailed = z.strictObject(failed)
export const ToolCallInDoubt = z.strictObject(inDoubt)

export const ToolCallResolved = z.strictObject({
  v: z.literal(1),
  ...identity,
  outcome: z.enum(['executed', 'not-executed', 'compensated']),
  result: JsonValue.optional(),
  evidence: JsonValue,
})

/** A tool ran and its result could not be recorded: the run goes back, this call included (RUN-11). */
export const ResultNotRecorded = z.strictObject({ v: z.literal(1), ...identity, reason: z.string().max(1024) })

export const CompensationStarted = z.strictObject({
  v: z.literal(1),
  compensationId: Uuid,
  reason: z.string().max(4096),
  /** Absent: the whole run. */
  scope: Scope.optional(),
  /** Forward calls to undo, first group first; calls still in flight join later. */
  plan: z.array(z.array(Uuid)),
})

const undoes = { compensates: Uuid, willRetry: z.boolean().optional() }
export const CompensationSucceeded = z.strictObject({ ...succeeded, compensates: Uuid })
export const CompensationFailed = z.strictObject({ ...failed, ...undoes })
export const CompensationInDoubt = z.strictObject({ ...inDoubt, compensates: Uuid })

export const CompensationStatus = z.enum(['COMPENSATED', 'PARTLY_COMPENSATED', 'COMPENSATION_FAILED', 'IN_DOUBT'])

export const RunCompensated = z.strictObject({
  v: z.literal(1),
  compensationId: Uuid,
  status: CompensationStatus,
  compensated: z.array(Uuid),
  standing: z.array(Uuid),
  failed: z.array(Uuid),
  unknown: z.array(Uuid),
})
