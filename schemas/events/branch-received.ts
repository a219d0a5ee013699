/** @module BranchReceived: the receipt for the end of a branch; `merged` and `discarded` are offers after the join (RUN-38 to RUN-42). */
import { z } from 'zod'
import { rules } from '../envelope-members.ts'
import { eventType, ratedBy } from '../event-type.ts'
import { Finding } from '../finding.ts'
import { BranchStatus, ofBranch } from '../fork.ts'
import { Digest } from '../names.ts'
import { Redacted } from '../redaction.ts'
import { Failure, JsonRecord } from '../values.ts'

const schema = z.strictObject({
  ...ofBranch,
  redacted: Redacted.optional(),
  status: BranchStatus,
  output: Digest.optional(),
  /** The payload of a refused branch, which stays readable. */
  payload: JsonRecord.optional(),
  add: JsonRecord.optional(),
  /** Digest of the signed content, if the output was signed; the same content is not accepted again (SEAL-16). */
  signed: Digest.optional(),
  rules,
  findings: z.array(Finding).optional(),
  findingsTotal: z.int().optional(),
  /** The reason why the branch failed, was aborted or was refused. */
  error: Failure.optional(),
})

export const BranchReceived = eventType({
  family: 'fork',
  label: 'Branch received',
  activity: 'update',
  rating: ratedBy(schema, 'status', {
    merged: { verdict: null, outcome: 'success', severity: 'informational' },
    discarded: { verdict: null, outcome: 'success', severity: 'informational' },
    aborted: { verdict: null, outcome: 'success', severity: 'informational' },
    failed: { verdict: 'failed', outcome: 'failure', severity: 'medium' },
    refused: { verdict: 'refused', outcome: 'failure', severity: 'medium' },
  }),
  facts: ['agent'],
  rules: 'findings',
  changes: { bill: true },
  schema,
})
