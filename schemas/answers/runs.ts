/** @module Answers about a run: its state, its established context, and the result of its start. */
import { z } from 'zod'
import { CALL_STATUSES } from '../call-status.ts'
import { BranchOrigin, ParentCall } from '../events/run-started.ts'
import { Digest, Name, RunId, WorkerVersion } from '../names.ts'
import { ResolvedPolicy } from '../policy.ts'
import { Redacted } from '../redaction.ts'
import { LEFT_BECAUSE, ROLLBACK_VERDICTS, RUN_STATUSES } from '../run-status.ts'
import { MOVE_KINDS } from '../value-forms.ts'
import { Failure, JsonRecord, JsonValue, SuspectId, Uuid, ValueRef } from '../values.ts'
import { type Answer, Count, list, OVER_RUNS, READ, RECORDED, Revision, Step, Time } from './answer.ts'
import { BudgetTotals } from './budget.ts'

const CallStatus = z.enum(CALL_STATUSES)

/** Origin of a branch or a child run. */
const ORIGIN = { branchOf: BranchOrigin.optional(), childOf: ParentCall.optional() } as const

const OpenCall = z.strictObject({
  callId: Uuid,
  tool: Name,
  phase: z.literal('model').optional(),
  status: CallStatus,
  leaseUntil: Time,
  overdue: z.literal(true).optional(),
})

/** `name` is that of the signal; `tool` is that of the call to be approved. */
const OpenWait = z.strictObject({
  for: z.enum(['approval', 'signal', 'time']),
  approvalId: Uuid.optional(),
  tool: Name.optional(),
  name: Name.optional(),
  waitId: Uuid.optional(),
  since: Time,
  until: z.string().optional(),
})

/** A place that an agent declared as moving, in the handoff of a step. */
const DeclaredMove = z.strictObject({
  path: z.string(),
  as: z.enum(MOVE_KINDS),
  by: z.string().optional(),
  reason: z.string(),
  agent: Name,
  step: Step,
})

/** Accepted changes that remain unexplained. */
const SUSPECTS = {
  suspects: list(z.strictObject({ id: SuspectId, path: z.string(), agent: Name })).optional(),
  suspectsTotal: z.int().min(1).optional(),
} as const

/** With short values included, since readers of the context may see them. */
const SUSPECTS_WITH_VALUES = {
  ...SUSPECTS,
  suspects: list(
    z.strictObject({
      ...{ id: SuspectId, path: z.string(), agent: Name },
      before: JsonValue.optional(),
      after: JsonValue.optional(),
    }),
  ).optional(),
} as const

/** A run that its worker's code cannot carry on: why, how often in a row, since when, and until when it is left alone. */
const Stuck = z.strictObject({
  code: z.string(),
  message: z.string(),
  attempts: z.int().min(1),
  since: Time,
  until: Time,
})

const ChildRun = z.strictObject({
  run: RunId,
  callId: Uuid,
  tool: Name.optional(),
  status: CallStatus.optional(),
})

export const RunAnswer = z
  .strictObject({
    runId: RunId,
    name: Name,
    status: z.enum(RUN_STATUSES),
    compensation: z.enum(ROLLBACK_VERDICTS).optional(),
    seal: z.literal('invalid').optional(),
    revision: Revision,
    digest: Digest,
    actor: z.string(),
    principal: z.string().optional(),
    startedAt: Time,
    updatedAt: Time,
    tags: list(Name),
    fence: z.int().min(1),
    step: Step,
    parent: Digest,
    contextDigest: Digest,
    snapshot: z.strictObject({ step: Step, revision: Revision, contextDigest: Digest }),
    rejections: z.int().min(0),
    rewinds: z.int().min(0),
    agents: list(Name),
    policy: ResolvedPolicy,
    declared: list(DeclaredMove).optional(),
    ...SUSPECTS,
    budget: BudgetTotals,
    calls: z.int().min(0),
    openCalls: list(OpenCall),
    waiting: list(OpenWait).optional(),
    heldSignals: list(z.strictObject({ signalId: Uuid, name: Name, receivedAt: Time })).optional(),
    version: WorkerVersion.optional(),
    stuck: Stuck.optional(),
    openFork: Uuid.optional(),
    ...ORIGIN,
    children: list(ChildRun),
    branches: list(z.strictObject({ run: RunId, atStep: Step, revision: Revision })),
    openReservations: list(Uuid),
    asOf: Uuid.nullable().optional(),
    ...READ,
  })
  .meta({ id: 'Run' })

/** `agent` is empty before the first handoff. */
export const ContextAnswer = z
  .strictObject({
    runId: RunId,
    step: Step,
    revision: Revision,
    agent: z.string(),
    parent: Digest,
    contextDigest: Digest,
    context: JsonRecord,
    ...SUSPECTS_WITH_VALUES,
    ...READ,
  })
  .meta({ id: 'Context' })

/** The answer for a run that starts, is resumed, or has ended. */
export const StartAnswer = z
  .strictObject({
    ...RECORDED,
    name: Name,
    status: z.enum(RUN_STATUSES),
    step: Step,
    fence: z.int().min(1),
    startedAt: Time.optional(),
    resumed: z.literal(true).optional(),
    ...ORIGIN,
    policy: ResolvedPolicy.optional(),
    callKey: z.string().optional(),
    valueMaxBytes: z.int().min(1).optional(),
    claimFirst: z.union([z.literal(true), z.array(Name)]).optional(),
    compensation: z.enum(ROLLBACK_VERDICTS).optional(),
    output: JsonValue.optional(),
    outputRef: ValueRef.optional(),
    outputRedacted: Redacted.optional(),
    error: Failure.optional(),
  })
  .meta({ id: 'RunStart' })

const RunItem = z.strictObject({
  runId: RunId,
  name: Name,
  status: z.enum(RUN_STATUSES),
  compensation: z.enum(ROLLBACK_VERDICTS).optional(),
  seal: z.literal('invalid').optional(),
  tags: list(Name),
  agents: list(Name),
  actor: z.string(),
  principal: z.string().optional(),
  startedAt: Time,
  updatedAt: Time,
  revision: Revision,
  step: Step,
  rejections: Count,
  calls: Count,
  waiting: Count.describe('How many approvals, signals and times an open run waits for.'),
  approvals: Count,
  openCalls: Count.describe('How many calls have no outcome.'),
  inDoubtCalls: Count,
  leaseUntil: Time.optional(),
  overdue: z.literal(true).optional(),
  fence: z.int().min(1),
  dueAt: Time.optional(),
  version: WorkerVersion.optional(),
  stuck: Stuck.optional(),
  tokens: Count,
  cost: z.string().optional(),
  currency: z.string().optional(),
})

/** `asOf` is the last event of the tenant's log that the list has seen. */
export const RunsAnswer = z
  .strictObject({ items: list(RunItem), asOf: Uuid.nullable(), ...OVER_RUNS })
  .omit({ unreadable: true })
  .meta({ id: 'Runs' })

export const EndAnswer = z.strictObject({ ...RECORDED, status: z.enum(RUN_STATUSES) }).meta({ id: 'RunEnd' })

export const LeftAnswer = z
  .strictObject({ ...RECORDED, because: z.enum(LEFT_BECAUSE), until: Time.optional() })
  .meta({ id: 'RunLeaving' })

export const CarriedAnswer = z.strictObject({ ...RECORDED, fence: z.int().min(1) }).meta({ id: 'RunCarrying' })

/** The run was left open; `until`: no worker takes it before, because it is stuck. */
export type LeftAnswer = Answer<typeof LeftAnswer>
/** The run is left to the worker that carries it for another while. */
export type CarriedAnswer = Answer<typeof CarriedAnswer>
/** One run of the list: its status, counts and totals. */
export type RunItem = Answer<typeof RunItem>
export type RunsAnswer = Answer<typeof RunsAnswer>
export type EndAnswer = Answer<typeof EndAnswer>
/** The state of a run: totals, open calls, waits. Times are RFC 3339 in UTC, money is decimal strings, digests are `sha256:` and 64 hex digits. */
export type RunAnswer = Answer<typeof RunAnswer>
/** The context that a run has established, and the accepted handoff (`step`) that established it. */
export type ContextAnswer = Answer<typeof ContextAnswer>
/** The run that was started or resumed; for an ended run also its `output` (or `outputRef`) or `error`. */
export type StartAnswer = Answer<typeof StartAnswer>
