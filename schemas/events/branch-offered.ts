/**
 * @module BranchOffered: a branch's output passed validator, manifest and schema against the frozen context, and waits for the join (RUN-38
 * to RUN-42).
 */
import { z } from 'zod'
import { rules } from '../envelope-members.ts'
import { eventType } from '../event-type.ts'
import { Finding } from '../finding.ts'
import { ofBranch } from '../fork.ts'
import { Digest } from '../names.ts'
import { Declarations } from '../place-policy.ts'
import { Redacted } from '../redaction.ts'
import { JsonRecord, Supersession } from '../values.ts'

export const BranchOffered = eventType({
  family: 'fork',
  label: 'Branch offered',
  activity: 'update',
  rating: { verdict: 'accepted', outcome: 'success', severity: 'informational' },
  facts: ['agent'],
  rules: 'findings',
  changes: { bill: true },
  schema: z.strictObject({
    ...ofBranch,
    redacted: Redacted.optional(),
    report: Digest,
    rules,
    confidence: z.number().optional(),
    payload: JsonRecord,
    /** Members added to lists of the context. */
    add: JsonRecord.optional(),
    /** Digest of the payload's JCS bytes. */
    output: Digest,
    supersedes: z.array(Supersession).optional(),
    /** Places that the agent declared as moving, and the indexes, from 0, of the refused declarations. */
    moves: Declarations.optional(),
    movesRefused: z.array(z.int().min(0)).optional(),
    manifestHash: Digest.optional(),
    /** The agent's own detached JWS over the output as an envelope of mode `extend` on the fork's `parent`. */
    signature: z.string().optional(),
    /** Digest of the signed content (SEAL-16). */
    signed: Digest.optional(),
    /** Warnings only; an error would have refused the output. */
    findings: z.array(Finding).optional(),
    /** Number of unexplained changes, if there are more than `findings` lists. */
    suspectsTotal: z.int().min(1).optional(),
  }),
})
