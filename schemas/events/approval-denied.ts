/** @module ApprovalDenied: a person denied the approval, and the call does not run (RUN-61). */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { Digest, Name } from '../names.ts'
import { Redacted } from '../redaction.ts'
import { COMMENT_MAX_CHARS } from '../value-forms.ts'
import { Uuid } from '../values.ts'

export const ApprovalDenied = eventType({
  family: 'call',
  label: 'Approval denied',
  activity: 'update',
  rating: { verdict: 'denied', outcome: 'failure', severity: 'medium' },
  facts: ['tool', 'approval'],
  notable: true,
  announced: { as: 'approval.denied', members: ['approvalId', 'tool', 'argsDigest'] },
  changes: {},
  schema: z.strictObject({
    v: z.literal(1),
    redacted: Redacted.optional(),
    approvalId: Uuid,
    tool: Name,
    argsDigest: Digest,
    roles: z.array(Name).optional(),
    comment: z.string().max(COMMENT_MAX_CHARS).optional(),
  }),
})
