/**
 * @module ApprovalExpired: the approval was not decided and used in time, so it no longer counts; recorded by the first command that
 * encounters it (RUN-62).
 */
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
