/** @module Bodies of the events that start, resume and end a run, and of recorded refusals. */
import { z } from 'zod'
import { Digest, Name, RunId } from '../names.ts'
import { ResolvedPolicy } from '../policy.ts'
import { BudgetLimits, Failure, JsonRecord, JsonValue, ManifestBody, Uuid } from '../values.ts'

/** Where a branch run came from. */
const BranchOrigin = z.strictObject({
  run: RunId,
  atStep: z.int().min(0),
  /** Revision and digest of the parent's event that established the step. */
  revision: z.int().min(0),
  digest: Digest,
  /** Digest of the context that was established there. */
  contextDigest: Digest,
})

export const RunStarted = z.strictObject({
  v: z.literal(1),
  name: Name,
  input: JsonValue.optional(),
  tags: z.array(Name),
  budget: BudgetLimits.optional(),
  policy: ResolvedPolicy,
  /** Digest of the request's own members: what "the same run" means when the id is asked for again. */
  requestDigest: Digest,
  branchOf: BranchOrigin.optional(),
  /** The context that a branch starts with: a fold need not look into another stream. */
  restored: JsonRecord.optional(),
})

/** A new owner took the run up: handoffs and claims under an older fence are refused. */
export const RunResumed = z.strictObject({ v: z.literal(1), fence: z.int().min(1) })

/** Another run was started from a step of this one; in the stream of the run that it left. May follow the end of the run. */
export const RunBranched = z.strictObject({
  v: z.literal(1),
  /** The run that was started. */
  run: RunId,
  atStep: z.int().min(0),
  /** Revision of the event of this stream that established the step. */
  revision: z.int().min(0),
})

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

/** The run's own keys were given away: from here on a mac of this run proves nothing, and nothing may follow. */
export const RunKeyDisclosed = z.strictObject({ v: z.literal(1) })

export const RunCompleted = z.strictObject({ v: z.literal(1), output: JsonValue.optional() })
export const RunFailed = z.strictObject({ v: z.literal(1), error: Failure, openCalls: z.array(Uuid) })
