/** @module ApprovalExpired: what was not decided and used in time is not approved; recorded by the first command that meets it (RUN-62). */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { Name } from '../names.ts'
import { Uuid } from '../values.ts'

export const ApprovalExpired = eventType({
  family: 'call',
  label: 'Approval expired',
  activity: 'update',
  rating: { verdict: 'expired', outcome: 'failure', severity: 'medium' },
  facts: ['tool', 'approval'],
  notable: true,
  announced: { as: 'approval.expired', members: ['approvalId', 'tool'] },
  changes: {},
  schema: z.strictObject({ v: z.literal(1), approvalId: Uuid, tool: Name }),
})
