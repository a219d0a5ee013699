/**
 * @module ForkJoined: the verdict on a fork. Only `joined` is followed by an EnvelopeAccepted in the same append; otherwise the context is
 * unchanged (RUN-38 to RUN-42).
 */
import { z } from 'zod'
import { rules } from '../envelope-members.ts'
import { eventType, ratedBy } from '../event-type.ts'
import { Finding } from '../finding.ts'
import { BranchStatus, JoinStrategy } from '../fork.ts'
import { Digest, Name } from '../names.ts'
import { JsonValue, Uuid } from '../values.ts'

const BranchReceipt = z.strictObject({
  branch: Name,
  agent: Name,
  status: BranchStatus,
  report: Digest.optional(),
  output: Digest.optional(),
  confidence: z.number().optional(),
  score: z.number().optional(),
  /** Digest over the other members, the fork's id and its frozen context. */
  receipt: Digest,
})

/** Two branches changed one place differently. A value over 1 KiB of canonical text is recorded as `{digest, bytes}`. */
const ForkConflict = z.strictObject({
  path: z.string(),
  /** Absent if the frozen context has no value there. */
  frozen: JsonValue.optional(),
  ours: z.strictObject({ branch: Name, value: JsonValue }),
  theirs: z.strictObject({ branch: Name, value: JsonValue }),
})

const schema = z.strictObject({
  v: z.literal(1),
  forkId: Uuid,
  join: JoinStrategy,
  /**
   * `none`: no branch had a valid output; `conflict`: the outputs of a union contradict each other; `rejected`: the result is not a valid
   * context, or a judge rejected the handoff that it builds on.
   */
  outcome: z.enum(['joined', 'none', 'conflict', 'rejected']),
  /** Merged branches, in the order in which they were merged. */
  winners: z.array(Name),
  /** Valid branches in the strategy's order, best first. */
  order: z.array(Name),
  /** One per branch, in declared order. */
  receipts: z.array(BranchReceipt),
  /** Digest over fork, frozen context, strategy, outcome, winners, order, receipts and the joined context: the merge receipt. */
  receipt: Digest,
  conflicts: z.array(ForkConflict).optional(),
  conflictsTotal: z.int().optional(),
  rules,
  findings: z.array(Finding).optional(),
  findingsTotal: z.int().optional(),
})

export const ForkJoined = eventType({
  family: 'fork',
  label: 'Fork joined',
  activity: 'update',
  rating: ratedBy(schema, 'outcome', {
    joined: { verdict: null, outcome: 'success', severity: 'informational' },
    none: { verdict: null, outcome: 'failure', severity: 'medium' },
    conflict: { verdict: null, outcome: 'failure', severity: 'medium' },
    rejected: { verdict: null, outcome: 'failure', severity: 'medium' },
  }),
  facts: [],
  rules: 'findings',
  changes: {},
  schema,
})
