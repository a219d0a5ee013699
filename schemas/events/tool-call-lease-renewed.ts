/** @module ToolCallLeaseRenewed: the lease of a call was extended. */
import { z } from 'zod'
import { callIdentity } from '../call-members.ts'
import { eventType } from '../event-type.ts'

export const ToolCallLeaseRenewed = eventType({
  family: 'call',
  label: 'Tool call lease renewed',
  activity: 'update',
  rating: { verdict: null, outcome: 'success', severity: 'informational' },
  facts: ['call'],
  routine: true,
  changes: { call: 'renewed' },
  schema: z.strictObject({
    v: z.literal(1),
    ...callIdentity,
    leaseMs: z.int().min(1),
    leaseUntil: z.string(),
  }),
})
