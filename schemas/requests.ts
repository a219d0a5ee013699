/**
 * @module Bodies of the requests that change a run. The schemas are strict: unknown members are refused, so that no caller sets members
 * that the ledger sets.
 */
import { z } from 'zod'
import { Approve } from './approval.ts'
import { Compensate, Effects, LeaseOwner, Unrecorded } from './call-members.ts'
import { JoinStrategy, OnDiscard } from './fork.ts'
import { GivenTime } from './given-time.ts'
import { Currency, Digest, Money, Name, RunId, WorkerVersion } from './names.ts'
import { Declarations } from './place-policy.ts'
import { Policy } from './policy.ts'
import { LEFT_BECAUSE } from './run-status.ts'
import {
  BRANCHES_MAX,
  HANDOFF_TEXT_MAX_CHARS,
  HOLD_MAX_MS,
  HOLD_MIN_MS,
  KEY_MAX_CHARS,
  LEASE_MAX_MS,
  LEASE_MIN_MS,
  PER_TENANT_MAX,
  RESERVATION_DEADLINE_MAX_MS,
  RETRY_MAX_MS,
  SUPERSESSIONS_MAX,
  TAGS_MAX,
} from './value-forms.ts'
import {
  Aborted,
  BudgetLimits,
  Failure,
  HandoffMode,
  JsonRecord,
  JsonValue,
  JUDGEMENT,
  ManifestBody,
  OnUnknown,
  Phase,
  REVIEW,
  Scope,
  Supersession,
  Tokens,
  Usage,
  Uuid,
} from './values.ts'

export const LEASE_DEFAULT_MS = 60_000
export const RESERVATION_DEADLINE_DEFAULT_MS = 10 * 60_000

export const StartRun = z
  .strictObject({
    id: RunId.optional(),
    name: Name,
    input: JsonValue.optional(),
    tags: z.array(Name).max(TAGS_MAX).optional(),
    budget: BudgetLimits.optional(),
    policy: Policy.optional(),
    /** Starts from the context that another run had established at a step. The events of both runs link to each other. */
    branchOf: z.strictObject({ run: RunId, atStep: z.int().min(0) }).optional(),
    /**
     * The run executes a call of another run, under that call's latest claim; the events of both runs link to each other. `id` defaults to
     * the id of the call. The run is compensated with the call, and resumed by the owner of the call.
     */
    childOf: z.strictObject({ run: RunId, callId: Uuid, fence: z.int().min(1) }).optional(),
    /** How a resume treats active leases whose owner is not known to be gone: wait for them (default), refuse, or end them. */
    whenOwned: z.enum(['wait', 'refuse', 'take-over']).optional(),
    /** Records the run without carrying it: a worker may take it from this time on; RFC 3339. Of a run that exists, nothing changes. */
    after: GivenTime.optional(),
    /**
     * Carries on the run of this id as it is recorded, if `fence` is still its latest: of several workers, one gets it. Other members except `name` and
     * `whenOwned` are not compared. `holdMs`: other workers leave it alone for this long after each of its events. `perTenant`: only if workers carry fewer
     * other runs of the tenant.
     */
    worker: z
      .strictObject({
        fence: z.int().min(1),
        holdMs: z.int().min(HOLD_MIN_MS).max(HOLD_MAX_MS),
        version: WorkerVersion.optional(),
        perTenant: z.int().min(1).max(PER_TENANT_MAX).optional(),
      })
      .optional(),
  })
  .refine(
    ({ worker, after, branchOf, childOf }) =>
      worker === undefined || [after, branchOf, childOf].every((member) => member === undefined),
    {
      message: 'a worker carries a run on as it is recorded: after, branchOf and childOf are for the start of a run',
      path: ['worker'],
    },
  )
  .refine(({ after, branchOf, childOf }) => after === undefined || (branchOf ?? childOf) === undefined, {
    message: 'no worker carries on a branch, or the work of a call, by itself: leave out after',
    path: ['after'],
  })

/** How the code that carries a run leaves it open. `retryAfterMs`: how long no worker takes a run that is stuck. `retry`: the run is stuck, and may be taken at once. */
export const LeaveRun = z
  .strictObject({
    because: z.enum(LEFT_BECAUSE),
    error: z.strictObject({ code: z.string().min(1).max(128), message: z.string().max(2000) }).optional(),
    retryAfterMs: z.int().min(1).max(RETRY_MAX_MS).optional(),
    runFence: z.int().min(1),
  })
  .refine(
    ({ because, error, retryAfterMs }) =>
      [error, retryAfterMs].every((member) => (member !== undefined) === (because === 'stuck')),
    {
      message: 'a run that is stuck says why (error) and for how long it is left alone (retryAfterMs); others do not',
      path: ['because'],
    },
  )

/** The code of a worker still carries the run. */
export const CarryRun = z.strictObject({ runFence: z.int().min(1) })

const RunFence = z.int().min(1).optional()

/** Place of the request in the run's code, by which a resume and a replay find it. */
const CallFields = { scope: Scope.optional(), occurrence: z.int().min(0).optional(), runFence: RunFence }

export const PostEnvelope = z.strictObject({
  agent: Name,
  payload: JsonRecord,
  mode: HandoffMode.optional(),
  /** Members added to the lists of the context, whatever the mode. */
  add: JsonRecord.optional(),
  /** Digest of the event whose context the handoff builds on; the handoff is refused if that context is no longer the established one. */
  parent: Digest.optional(),
  tokens: Tokens.optional(),
  manifestHash: Digest.optional(),
  supersedes: z.array(Supersession).max(SUPERSESSIONS_MAX).optional(),
  /** Places that may move from now on, each with its kind. The declarations apply from the acceptance of the handoff to the end of the run. */
  moves: Declarations.optional(),
  signature: z.string().max(4096).optional(),
  ...CallFields,
})

export const Rollback = z.strictObject({
  reason: z.string().min(1).max(HANDOFF_TEXT_MAX_CHARS),
  toStep: z.int().min(0).optional(),
  ...CallFields,
})

export const RecordJudgement = z.strictObject({
  ...JUDGEMENT,
  findings: z
    .array(z.strictObject({ path: z.string().max(4096), message: z.string().min(1).max(2048) }))
    .max(20)
    .optional(),
  runFence: RunFence,
})

/** A person's decision on suspects of the run, possibly several at once: unless all of them are open, none is decided. */
export const ReviewSuspects = z.strictObject({ ...REVIEW, runFence: RunFence })

export const RegisterManifest = z.strictObject({ agent: Name, ...ManifestBody.shape })

export const Reserve = z.strictObject({
  agent: Name.optional(),
  tokens: Tokens.optional(),
  cost: Money.optional(),
  currency: Currency.optional(),
  provider: Name.optional(),
  model: Name.optional(),
  deadlineMs: z.int().min(1).max(RESERVATION_DEADLINE_MAX_MS).optional(),
})

/** How a call ended that ran before it was claimed. */
const StepOutcome = z
  .strictObject({ result: JsonValue.optional(), error: Failure.optional(), unrecorded: Unrecorded.optional() })
  .refine(
    (body) => [body.result, body.error, body.unrecorded].filter((each) => each !== undefined).length === 1,
    'exactly one of result, error and unrecorded is required (a tool that returns nothing has the result null)',
  )

export const ClaimCall = z.strictObject({
  tool: Name,
  args: JsonValue,
  phase: Phase.optional(),
  /** The caller's own identity of the call; for a compensation, the id of the forward call. */
  key: z.string().min(1).max(KEY_MAX_CHARS).optional(),
  scope: Scope.optional(),
  occurrence: z.int().min(0).optional(),
  group: Name.optional(),
  leaseMs: z.int().min(LEASE_MIN_MS).max(LEASE_MAX_MS).optional(),
  onUnknown: OnUnknown.optional(),
  agent: Name.optional(),
  compensate: Compensate.optional(),
  /** `none`: the call changes nothing outside the run and need not wait while a suspect is open. */
  effects: Effects.optional(),
  compensateUnknown: z.boolean().optional(),
  /** A failed call may also have left effects to undo. */
  compensateFailed: z.boolean().optional(),
  parentCall: Uuid.optional(),
  reserve: Reserve.optional(),
  /** The tool's own approval rule; policy and manifests may add more. */
  approve: Approve.optional(),
  /**
   * The approval that the caller intends to use; the claim is refused if that approval is not for exactly this call. Absent: the ledger
   * finds it by the key.
   */
  approval: Uuid.optional(),
  /** The process that executes the call, if its death can be proved. */
  owner: LeaseOwner.optional(),
  /** The id for a call that the run does not have yet. The ledger chooses another if the run has a call of that id. */
  callId: Uuid.optional(),
  /**
   * The call began to run before it was claimed: the number of the run's events up to the last outcome that its code had been given when it
   * asked for the call.
   */
  after: z.int().min(0).optional(),
  /** The call ran already and changed nothing: claim and outcome are one append. Only for `effects: "none"`. */
  outcome: StepOutcome.optional(),
  runFence: RunFence,
})

export const SettleCall = z
  .strictObject({
    fence: z.int().min(1),
    result: JsonValue.optional(),
    error: Failure.optional(),
    /** The outcome is unknown, for instance after a timeout or an abort. The call is in doubt. */
    unknown: z
      .strictObject({
        reason: z.string().max(1024),
        /** The call's own process leaves the call to the next resume, because it did not see how the call ended. */
        left: z.literal(true).optional(),
      })
      .optional(),
    /** The tool ran, but its result could not be recorded. `answered`: the caller was notified and the run continues. */
    unrecorded: Unrecorded.optional(),
    /** A failed compensation that the caller will retry, so it is not final. */
    willRetry: z.boolean().optional(),
    /** For a compensation that succeeded: some effects of the call remain and will not be undone. */
    leftStanding: z.literal(true).optional(),
    /** `digest`: only the reference of the result (`ValueRef`) is recorded, not the value. */
    record: z.literal('digest').optional(),
    usage: Usage.optional(),
  })
  .refine(
    (body) =>
      [body.result, body.error, body.unknown, body.unrecorded].filter((each) => each !== undefined).length === 1,
    'exactly one of result, error, unknown and unrecorded is required (a tool that returns nothing has the result null)',
  )

export const RenewCall = z.strictObject({ fence: z.int().min(1) })

export const ResolveCall = z.strictObject({
  outcome: z.enum(['executed', 'not-executed', 'compensated']),
  result: JsonValue.optional(),
  evidence: JsonValue,
})

export const StartCompensation = z.strictObject({
  reason: z.string().min(1).max(4096),
  /** For a child run: the error that its code ended with. */
  error: Failure.optional(),
  aborted: Aborted.optional(),
  scope: Scope.optional(),
  runFence: RunFence,
})

export const PostReservation = z.strictObject({ ...Reserve.shape, agent: Name })
export const SettleReservation = z.strictObject({ usage: Usage })
export const ReleaseReservation = z.strictObject({ reason: z.string().max(1024).optional() })
export const PostUsage = z.strictObject({ agent: Name, usage: Usage, callId: Uuid.optional() })

const Branch = z.strictObject({
  name: Name,
  agent: Name,
  /** Scope of the branch's calls. Defaults to `fork:<name>`, with a number if an earlier fork used it. */
  scope: Scope.optional(),
  manifestHash: Digest.optional(),
})

export const StartFork = z
  .strictObject({
    /** The agent in whose name a union is handed over. Defaults to the caller. */
    agent: Name.optional(),
    branches: z.array(Branch).min(1).max(BRANCHES_MAX),
    join: JoinStrategy,
    onDiscard: OnDiscard.optional(),
    runFence: RunFence,
  })
  .refine(
    ({ branches }) => new Set(branches.map(({ name }) => name)).size === branches.length,
    'each branch of a fork has a name of its own',
  )
  .refine(
    ({ branches }) =>
      branches.every(
        ({ scope }, i) => scope === undefined || !branches.some((b, j) => i !== j && isWithin(b.scope, scope)),
      ),
    'each branch of a fork has a scope of its own, none within another',
  )

function isWithin(inner: string | undefined, outer: string): boolean {
  return inner === outer || inner?.startsWith(`${outer}/`) === true
}

export const ReportBranch = z
  .strictObject({
    branch: Name,
    agent: Name.optional(),
    /** The branch's handoff, judged against the frozen context like an envelope of mode `extend`. */
    output: JsonRecord.optional(),
    /** In addition to `output`: members added to lists of the context. */
    add: JsonRecord.optional(),
    /** The error that the branch threw. */
    error: Failure.optional(),
    /** The refusal that ended the branch, of a budget or of a handoff. */
    refused: Failure.optional(),
    /** The branch was abandoned. */
    aborted: z.strictObject({ reason: z.string().max(1024) }).optional(),
    /** For a vote: the highest score wins. Without scores the validator's confidence decides. */
    score: z.number().optional(),
    tokens: Tokens.optional(),
    supersedes: z.array(Supersession).max(SUPERSESSIONS_MAX).optional(),
    /** As in an envelope; the declarations apply once the branch is merged. */
    moves: Declarations.optional(),
    /** Digest of the fork's `parent`; required if the output is signed. */
    parent: Digest.optional(),
    signature: z.string().max(4096).optional(),
    runFence: RunFence,
  })
  .refine(
    (body) => [body.output, body.error, body.refused, body.aborted].filter((each) => each !== undefined).length === 1,
    'exactly one of output, error, refused and aborted is required',
  )
  .refine(
    (body) => body.add === undefined || body.output !== undefined,
    'add is given beside output: a branch that adds and changes nothing else has the output {}',
  )

export const JoinFork = z.strictObject({ runFence: RunFence })

export const CompleteRun = z.strictObject({
  output: JsonValue.optional(),
  aborted: Aborted.optional(),
  runFence: RunFence,
})
export const FailRun = z.strictObject({ error: Failure, runFence: RunFence })

export type StartRun = z.infer<typeof StartRun>
export type LeaveRun = z.infer<typeof LeaveRun>
export type CarryRun = z.infer<typeof CarryRun>
export type PostEnvelope = z.infer<typeof PostEnvelope>
export type RecordJudgement = z.infer<typeof RecordJudgement>
export type ReviewSuspects = z.infer<typeof ReviewSuspects>
export type Rollback = z.infer<typeof Rollback>
export type RegisterManifest = z.infer<typeof RegisterManifest>
export type StepOutcome = z.infer<typeof StepOutcome>
export type ClaimCall = z.infer<typeof ClaimCall>
export type SettleCall = z.infer<typeof SettleCall>
export type RenewCall = z.infer<typeof RenewCall>
export type ResolveCall = z.infer<typeof ResolveCall>
export type StartCompensation = z.infer<typeof StartCompensation>
export type PostReservation = z.infer<typeof PostReservation>
export type SettleReservation = z.infer<typeof SettleReservation>
export type ReleaseReservation = z.infer<typeof ReleaseReservation>
export type PostUsage = z.infer<typeof PostUsage>
export type StartFork = z.infer<typeof StartFork>
export type ReportBranch = z.infer<typeof ReportBranch>
export type JoinFork = z.infer<typeof JoinFork>
export type CompleteRun = z.infer<typeof CompleteRun>
export type FailRun = z.infer<typeof FailRun>
export type Reserve = z.infer<typeof Reserve>
