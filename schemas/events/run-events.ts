/** @module Bodies of the events that start, resume and end a run, and of recorded refusals. */
import { z } from 'zod'
import { Digest, Name } from '../names.ts'
import { ResolvedPolicy } from '../policy.ts'
import { BudgetLimits, Failure, JsonValue, ManifestBody, Uuid } from '../values.ts'

export const RunStarted = z.strictObject({
  v: z.literal(1),
  name: Name,
  input: JsonValue.optional(),
  tags: z.array(Name),
  budget: BudgetLimits.optional(),
  policy: ResolvedPolicy,
  /** Digest of the request's own members: what "the same run" means when the id is asked for again. */
  requestDigest: Digest,
})

/** A new owner took the run up: handoffs and claims under an older fence are refused. */
export const RunResumed = z.strictObject({ v: z.literal(1), fence: z.int().min(1) })

export const ManifestRegistered = z.strictObject({
  v: z.literal(1),
  agent: Name,
  manifest: ManifestBody,
  /** Digest of the manifest's JCS bytes. */
  hash: Digest,
})

/** A request that passed token, scope and schema and was refused all the same. Holds digests, never the body. */
export const RequestRefused = z.strictObject({
  v: z.literal(1),
  code: Name,
  pointer: z.string().optional(),
  fingerprint: Digest,
  detail: z.string().max(1024),
  /** Ids, digests and numbers of what was expected and what came. */
  evidence: z.record(z.string(), z.union([z.string(), z.number(), z.null()])).optional(),
  /** A settle under an older fence: the call may have been executed twice. */
  lateOutcome: z
    .strictObject({
      callId: Uuid,
      fence: z.int(),
      status: z.enum(['succeeded', 'failed', 'unknown']),
      digest: Digest.optional(),
    })
    .optional(),
})

export const RunCompleted = z.strictObject({ v: z.literal(1), output: JsonValue.optional() })
export const RunFailed = z.strictObject({ v: z.literal(1), error: Failure, openCalls: z.array(Uuid) })
