/** @module BranchOffered: a branch's output passed validator, manifest and schema against the frozen context: it waits for the join (RUN-38 to RUN-42). */
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
    /** More of what the context holds then: members of its lists. */
    add: JsonRecord.optional(),
    /** Digest of the payload's JCS bytes. */
    output: Digest,
    supersedes: z.array(Supersession).optional(),
    /** Places that the agent declared to move, and which of them, counted from 0, are refused. */
    moves: Declarations.optional(),
    movesRefused: z.array(z.int().min(0)).optional(),
    manifestHash: Digest.optional(),
    /** The agent's own detached JWS over the output as an envelope of mode `extend` on the fork's `parent`. */
    signature: z.string().optional(),
    /** Digest of what it is over (SEAL-16). */
    signed: Digest.optional(),
    /** Warnings; errors would have refused it. */
    findings: z.array(Finding).optional(),
    /** How many changes nothing explains, where more are suspect than `findings` lists. */
    suspectsTotal: z.int().min(1).optional(),
  }),
})
