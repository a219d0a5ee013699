/** @module RunResumed: a new owner resumed the run; handoffs and claims under an older fence are refused. */
import { z } from 'zod'
import { eventType } from '../event-type.ts'

export const RunResumed = eventType({
  family: 'run',
  label: 'Run resumed',
  activity: 'update',
  rating: { verdict: null, outcome: 'success', severity: 'informational' },
  facts: [],
  changes: {},
  schema: z.strictObject({
    v: z.literal(1),
    fence: z.int().min(1),
    /** The leases of the previous owner end now, as the new owner requested. */
    takesOver: z.literal(true).optional(),
  }),
})
