/** @module Answers about tool calls, and about the rollback that undoes them. */
import { z } from 'zod'
import { Compensate, Unrecorded } from '../call-members.ts'
import { CALL_STATUSES } from '../call-status.ts'
import { ToolCallInDoubt } from '../events/tool-call-in-doubt.ts'
import { ToolCallResolved } from '../events/tool-call-resolved.ts'
import { Digest, Name, RunId } from '../names.ts'
import { Redacted } from '../redaction.ts'
import { ROLLBACK_VERDICTS, RUN_STATUSES } from '../run-status.ts'
import { Failure, JsonValue, OnUnknown, Phase, Scope, Uuid, ValueRef } from '../values.ts'
import { type Answer, Count, list, OVER_RUNS, pageOf, READ, RECORDED, Revision, Time } from './answer.ts'

const Counted = z.int().min(1)
const CallStatus = z.enum(CALL_STATUSES)

/** How a call ended, as its last outcome records it. */
const OUTCOME = {
  result: JsonValue.optional(),
  resultRef: ValueRef.optional(),
  resultRedacted: Redacted.optional(),
  unrecorded: Unrecorded.optional(),
  error: Failure.optional(),
  unknown: z.strictObject(pick(ToolCallInDoubt.schema.shape, ['cause', 'reason'])).optional(),
  resolved: z.strictObject(pick(ToolCallResolved.schema.shape, ['outcome', 'evidence'])).optional(),
} as const

/** The arguments of a call, or the reference to them. */
const ARGUMENTS = {
  args: JsonValue.optional(),
  argsRef: ValueRef.optional(),
  argsRedacted: Redacted.optional(),
} as const

const CALL = {
  callId: Uuid,
  key: z.string(),
  tool: Name,
  phase: Phase,
  argsDigest: Digest,
  onUnknown: OnUnknown,
  generation: Counted,
  agent: Name.optional(),
  scope: Scope.optional(),
  occurrence: Count.optional(),
  group: Name.optional(),
  parentCall: Uuid.optional(),
  compensate: Compensate.optional(),
  compensateUnknown: z.boolean().optional(),
  compensateFailed: z.boolean().optional(),
  compensates: Uuid.optional(),
  claimRevision: Revision,
  outcomeRevision: Revision.optional(),
  status: CallStatus,
  attempt: Counted,
  fence: Counted,
  leaseMs: Counted,
  leaseUntil: Time,
  owner: z.string().optional(),
  takenOver: z.literal(true).optional(),
  reservationId: Uuid.optional(),
  approvalId: Uuid.optional(),
  possiblyTwice: z.boolean().optional(),
  unknownOutcome: z.boolean().optional(),
  leftStanding: z.literal(true).optional(),
  willRetry: z.boolean().optional(),
  child: RunId.optional(),
  overdue: z.literal(true).optional(),
  ...ARGUMENTS,
  ...OUTCOME,
} as const

export const CallAnswer = z.strictObject({ ...CALL, ...READ }).meta({ id: 'Call' })
export const CallsAnswer = pageOf(z.strictObject(CALL)).meta({ id: 'Calls' })

export const OpenCallsAnswer = z
  .strictObject({
    items: list(z.strictObject({ runId: RunId, run: Name, ...CALL, since: z.string() })),
    asOf: Uuid.nullable(),
    ...OVER_RUNS,
  })
  .meta({ id: 'OpenCalls' })

const CALL_STATE = { callId: Uuid, status: CallStatus, fence: Counted, attempt: Counted, generation: Counted } as const
/** A repeated request records nothing: its answer names no event. */
const MAYBE_RECORDED = { ...RECORDED, revision: Revision.optional(), digest: Digest.optional() } as const

/** A new claim has its key, `claimedAt` and the lease; one that brings its outcome has `endedAt`; a claim of a call that has ended has the outcome. */
export const ClaimAnswer = z
  .strictObject({
    ...MAYBE_RECORDED,
    ...CALL_STATE,
    key: z.string().optional(),
    claimedAt: Time.optional(),
    endedAt: Time.optional(),
    leaseUntil: Time.optional(),
    leaseMs: Counted.optional(),
    reservationId: Uuid.optional(),
    ...OUTCOME,
  })
  .meta({ id: 'Claim' })

/** A call after it was renewed, settled or resolved; repeated, the answer has the recorded outcome. */
export const SettledCallAnswer = z
  .strictObject({
    ...MAYBE_RECORDED,
    ...CALL_STATE,
    key: z.string().optional(),
    leaseUntil: Time.optional(),
    leaseMs: Counted.optional(),
    endedAt: Time.optional(),
    compensates: Uuid.optional(),
    runStatus: z.enum([...RUN_STATUSES, ...ROLLBACK_VERDICTS]).optional(),
    ...OUTCOME,
  })
  .meta({ id: 'SettledCall' })

const Action = z.strictObject({
  callId: Uuid,
  key: Uuid,
  tool: Name,
  forwardTool: Name,
  status: CallStatus,
  group: Name.optional(),
  scope: Scope.optional(),
  ...ARGUMENTS,
  ...OUTCOME,
})

/** `status` is that of a rollback of the whole run, `scope` is of one of a part. */
const COMPENSATION = {
  compensationId: Uuid.or(z.literal('')),
  status: z.enum(['COMPENSATING', ...ROLLBACK_VERDICTS]).optional(),
  scope: Scope.optional(),
  runStatus: z.enum(RUN_STATUSES),
  plan: list(list(Action)),
} as const

export const CompensationAnswer = z.strictObject({ ...RECORDED, ...COMPENSATION }).meta({ id: 'Compensation' })
export const CompensationsAnswer = z
  .strictObject({ items: list(z.strictObject(COMPENSATION)), ...READ })
  .meta({ id: 'Compensations' })

/** Digest of the definitions of tools, where the capture reported them. */
export const CaptureAnswer = z
  .strictObject({ ...RECORDED, definitions: Digest.optional() })
  .meta({ id: 'CaptureRecorded' })

function pick<Shape extends object, Key extends keyof Shape>(shape: Shape, keys: readonly Key[]): Pick<Shape, Key> {
  return Object.fromEntries(keys.map((key) => [key, shape[key]])) as Pick<Shape, Key>
}

/** A call with its status, its arguments (or `argsRef`) and, where it has ended, its outcome. */
export type CallAnswer = Answer<typeof CallAnswer>
export type ClaimAnswer = Answer<typeof ClaimAnswer>
export type SettledCallAnswer = Answer<typeof SettledCallAnswer>
export type CompensationAnswer = Answer<typeof CompensationAnswer>
export type CaptureAnswer = Answer<typeof CaptureAnswer>
