/** @module Answers about what a run waits for: approvals, signals and times. */
import { z } from 'zod'
import { ApprovalNeed } from '../approval.ts'
import { Digest, Name, RunId } from '../names.ts'
import { JsonRecord, JsonValue, Phase, Scope, Uuid, ValueRef } from '../values.ts'
import { type Answer, Count, list, OVER_RUNS, PERSON, pageOf, READ, RECORDED, Revision, Time } from './answer.ts'

const APPROVAL_STATUSES = ['pending', 'granted', 'denied', 'expired', 'used'] as const

/** `args` is absent where the arguments are too large: `argsRef` then refers to them, and `argsPreview` is their beginning. */
const APPROVAL = {
  runId: RunId,
  runName: Name,
  approvalId: Uuid,
  key: z.string(),
  tool: Name,
  phase: Phase,
  argsDigest: Digest,
  generation: z.int().min(1),
  undoneBy: z.string().optional(),
  agent: Name.optional(),
  scope: Scope.optional(),
  requestedAt: Time,
  requestedBy: z.strictObject(PERSON),
  needs: list(ApprovalNeed),
  expiresAt: Time,
  selfApproval: z.boolean(),
  onDenied: z.enum(['error', 'rollback']),
  grants: list(z.strictObject({ ...PERSON, roles: list(Name).describe('Roles of the token that count.') })),
  denial: z.strictObject({ ...PERSON, comment: z.string().optional() }).optional(),
  status: z
    .enum([...APPROVAL_STATUSES, 'closed'])
    .describe('Status of the approval; `closed`: the run ended before it was decided.'),
  decidedRevision: Revision.optional(),
  callId: Uuid.optional(),
  args: JsonValue.optional(),
  argsRef: ValueRef.optional(),
  argsPreview: z.string().optional(),
} as const

export const ApprovalAnswer = z.strictObject({ ...APPROVAL, ...READ }).meta({ id: 'Approval' })
export const ApprovalsAnswer = pageOf(z.strictObject(APPROVAL)).meta({ id: 'Approvals' })

export const PendingApprovalsAnswer = z
  .strictObject({ items: list(z.strictObject(APPROVAL)), asOf: Uuid.nullable().optional(), ...OVER_RUNS })
  .meta({ id: 'PendingApprovals' })

export const DecisionAnswer = z
  .strictObject({
    ...RECORDED,
    approvalId: Uuid,
    tool: Name,
    argsDigest: Digest,
    status: z.enum(APPROVAL_STATUSES).describe('Current status of the approval.'),
  })
  .meta({ id: 'Decision' })

const WAIT_STATUSES = ['waiting', 'signalled', 'timed-out', 'elapsed'] as const

const WAIT = {
  waitId: Uuid,
  key: z.string(),
  name: Name.optional(),
  until: z.string().optional(),
  scope: Scope.optional(),
  occurrence: Count.optional(),
  startedAt: Time,
  status: z
    .enum([...WAIT_STATUSES, 'closed'])
    .describe('Status of the wait; `closed`: the run ended before the wait did.'),
  signalId: Uuid.optional(),
  schema: JsonRecord.optional(),
  payload: JsonValue.optional(),
  due: z.literal(true).optional(),
} as const

export const WaitAnswer = z.strictObject({ ...WAIT, ...READ }).meta({ id: 'Wait' })
export const WaitsAnswer = pageOf(z.strictObject(WAIT)).meta({ id: 'Waits' })

export const WaitedAnswer = z
  .strictObject({
    ...RECORDED,
    waitId: Uuid,
    status: z.enum(WAIT_STATUSES).describe('Status of the wait.'),
    name: Name.optional(),
    until: z.string().optional(),
    signalId: Uuid.optional(),
    endRevision: Revision.optional(),
    unchecked: Count.optional(),
    payload: JsonValue.optional(),
  })
  .meta({ id: 'Waited' })

export const SignalAnswer = z
  .strictObject({
    ...RECORDED,
    signalId: Uuid,
    name: Name,
    status: z.enum(['delivered', 'held']).describe('`held`: kept for the next wait for it.'),
    waitId: Uuid.optional(),
  })
  .meta({ id: 'Signal' })

/** A call that waits for people: who asks for what, with the arguments or a preview of them, and who decided. */
export type ApprovalAnswer = Answer<typeof ApprovalAnswer>
export type DecisionAnswer = Answer<typeof DecisionAnswer>
export type WaitAnswer = Answer<typeof WaitAnswer>
/** A wait as its start is answered; `payload` is that of the signal that ended it. */
export type WaitedAnswer = Answer<typeof WaitedAnswer>
export type SignalAnswer = Answer<typeof SignalAnswer>
