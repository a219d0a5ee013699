/** @module Bodies of forks: opened over a frozen context, a report a branch, and the join that ends them (RUN-38 to RUN-42). */
import { z } from 'zod'
import { Finding } from '../finding.ts'
import { BRANCHES_MAX, ForkBranch, JoinStrategy, OnDiscard } from '../fork.ts'
import { Digest, Name } from '../names.ts'
import { Failure, JsonRecord, JsonValue, Supersession, Tokens, Uuid } from '../values.ts'

export const ForkStarted = z.strictObject({
  v: z.literal(1),
  forkId: Uuid,
  /** In whose name a union is handed over. */
  agent: Name,
  /** Step and digest of the context that every branch sees, and of the event that established it. */
  step: z.int().min(0),
  context: Digest,
  parent: Digest,
  branches: z.array(ForkBranch).min(1).max(BRANCHES_MAX),
  join: JoinStrategy,
  onDiscard: OnDiscard,
  /** Digest of the request's own members: what "the same fork" means when it is asked for again. */
  requestDigest: Digest,
})

const ofBranch = {
  v: z.literal(1),
  forkId: Uuid,
  branch: Name,
  agent: Name,
  /** Digest of the report as it was sent; absent where the join came before any report. */
  report: Digest.optional(),
  tokens: Tokens.optional(),
  confidence: z.number().optional(),
  score: z.number().optional(),
}

/** A branch's output passed validator, manifest and schema against the frozen context: it waits for the join. */
export const BranchOffered = z.strictObject({
  ...ofBranch,
  report: Digest,
  confidence: z.number(),
  payload: JsonRecord,
  /** Digest of the payload's JCS bytes. */
  output: Digest,
  supersedes: z.array(Supersession).optional(),
  manifestHash: Digest.optional(),
  /** The agent's own detached JWS over the output as an envelope of mode `extend` on the fork's `parent`. */
  signature: z.string().optional(),
  /** Warnings; errors would have refused it. */
  findings: z.array(Finding).optional(),
})

/** How a branch ended: its receipt. `merged` and `discarded` are offers after the join. */
export const BranchReceived = z.strictObject({
  ...ofBranch,
  status: z.enum(['merged', 'discarded', 'aborted', 'failed', 'refused']),
  output: Digest.optional(),
  /** What a refused branch handed over: it stays readable. */
  payload: JsonRecord.optional(),
  findings: z.array(Finding).optional(),
  findingsTotal: z.int().optional(),
  /** Why it failed, was aborted or refused. */
  error: Failure.optional(),
})

export const BranchReceipt = z.strictObject({
  branch: Name,
  agent: Name,
  status: BranchReceived.shape.status,
  report: Digest.optional(),
  output: Digest.optional(),
  confidence: z.number().optional(),
  score: z.number().optional(),
  /** Digest over the other members, the fork's id and its frozen context. */
  receipt: Digest,
})

/** Two branches made different things of one place. A value over 1 KiB of canonical text stands as `{digest, bytes}`. */
export const ForkConflict = z.strictObject({
  path: z.string(),
  /** Absent where nothing stood there. */
  frozen: JsonValue.optional(),
  ours: z.strictObject({ branch: Name, value: JsonValue }),
  theirs: z.strictObject({ branch: Name, value: JsonValue }),
})

/** The verdict on a fork. Only `joined` is followed by an EnvelopeAccepted in the same write; else the context stays as it is. */
export const ForkJoined = z.strictObject({
  v: z.literal(1),
  forkId: Uuid,
  join: JoinStrategy,
  /** `none`: no branch had a valid output; `conflict`: a union of contradictions; `rejected`: the union is not a valid context. */
  outcome: z.enum(['joined', 'none', 'conflict', 'rejected']),
  /** Merged branches, in the order in which they were merged. */
  winners: z.array(Name),
  /** Valid branches, best first as the strategy sees them. */
  order: z.array(Name),
  /** One a branch, in declared order. */
  receipts: z.array(BranchReceipt),
  /** Digest over fork, frozen context, strategy, outcome, winners, order, receipts and the joined context: the merge receipt. */
  receipt: Digest,
  conflicts: z.array(ForkConflict).optional(),
  conflictsTotal: z.int().optional(),
  findings: z.array(Finding).optional(),
  findingsTotal: z.int().optional(),
})
