/** @module Bodies of handoffs: accepted, refused, snapshotted and rewound. */
import { z } from 'zod'
import { Finding } from '../finding.ts'
import { Digest, Name } from '../names.ts'
import { Snapshot } from '../snapshot.ts'
import { HandoffMode, JsonRecord, Scope, Supersession, Tokens, Uuid } from '../values.ts'

/** Where in the run's code it was asked for; absent where the caller keeps no places. */
const place = { scope: Scope.optional(), occurrence: z.int().min(0).optional() }

const handoff = {
  agent: Name,
  mode: HandoffMode,
  payload: JsonRecord,
  /** Digest of the event whose context this one builds on. */
  parent: Digest,
  tokens: Tokens.optional(),
  manifestHash: Digest.optional(),
  supersedes: z.array(Supersession).optional(),
  /** The agent's own detached JWS over the envelope (SEAL-14). */
  signature: z.string().optional(),
  ...place,
}

export const EnvelopeAccepted = z.strictObject({
  v: z.literal(1),
  step: z.int().min(1),
  ...handoff,
  /** Digest of the context this envelope established. */
  context: Digest,
  confidence: z.number(),
  /** Warnings; errors would have refused it. */
  findings: z.array(Finding).optional(),
})

export const EnvelopeRejected = z.strictObject({
  v: z.literal(1),
  ...handoff,
  confidence: z.number(),
  findings: z.array(Finding),
  /** All findings, where more than the recorded ones were made. */
  findingsTotal: z.int(),
})

export const SnapshotTaken = Snapshot

export const RunRewound = z.strictObject({
  v: z.literal(1),
  fromStep: z.int().min(0),
  toStep: z.int().min(0),
  /** Revision of the event whose context is restored: an EnvelopeAccepted, or RunStarted. */
  snapshot: z.int().min(0),
  cause: z.enum(['contradiction', 'rollback']),
  reason: z.string().optional(),
  ...place,
  /** Digest of the restored context. */
  context: Digest,
  /** The restored context itself where it is not the last snapshot's: a fold need not look back. */
  restored: JsonRecord.optional(),
  /** Calls claimed since that step: they stay, and so do their effects. */
  callsSince: z.array(Uuid),
})
