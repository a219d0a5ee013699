/** @module ApprovalWithdrawn: an authorised person withdraws a grant before it is used, and the call waits for a new decision (RUN-90). */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { Digest, Name } from '../names.ts'
import { Redacted } from '../redaction.ts'
import { COMMENT_MAX_CHARS } from '../value-forms.ts'
import { Uuid } from '../values.ts'

export const ApprovalWithdrawn = eventType({
  family: 'call',
  label: 'Approval withdrawn',
  activity: 'update',
  rating: { verdict: 'denied', outcome: 'failure', severity: 'medium' },
  facts: ['tool', 'approval'],
  notable: true,
  announced: { as: 'approval.withdrawn', members: ['approvalId', 'tool', 'argsDigest'] },
  changes: {},
  schema: z.strictObject({
    v: z.literal(1),
    redacted: Redacted.optional(),
    approvalId: Uuid,
    tool: Name,
    argsDigest: Digest,
    /** The token's roles that count for this approval. */
    roles: z.array(Name).optional(),
    comment: z.string().max(COMMENT_MAX_CHARS).optional(),
  }),
})
