/** @module RunResumed: a new owner resumed the run; handoffs and claims under an older fence are refused. */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { WorkerVersion } from '../names.ts'

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
    /** Carried by a worker: other workers leave the run alone for this long after each of its events, in milliseconds. */
    holdMs: z.int().min(1).optional(),
    /** Version of the worker's code. */
    version: WorkerVersion.optional(),
  }),
})
