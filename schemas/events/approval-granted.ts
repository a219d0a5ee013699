/** @module ApprovalGranted: a person approved the arguments of this digest; `complete` if no further approval is needed (RUN-61). */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { Digest, Name } from '../names.ts'
import { Redacted } from '../redaction.ts'
import { COMMENT_MAX_CHARS } from '../value-forms.ts'
import { Uuid } from '../values.ts'

export const ApprovalGranted = eventType({
  family: 'call',
  label: 'Approval granted',
  activity: 'update',
  rating: { verdict: 'granted', outcome: 'success', severity: 'low' },
  facts: ['tool', 'approval'],
  notable: true,
  announced: { as: 'approval.granted', members: ['approvalId', 'tool', 'argsDigest', 'complete'] },
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
    complete: z.boolean(),
  }),
})
