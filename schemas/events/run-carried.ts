/** @module RunCarried: the code of a worker still carries the run, although nothing of it was recorded for a while (RUN-224). */
import { z } from 'zod'
import { eventType } from '../event-type.ts'

export const RunCarried = eventType({
  family: 'run',
  label: 'Run carried',
  activity: 'update',
  rating: { verdict: null, outcome: 'success', severity: 'informational' },
  facts: [],
  routine: true,
  changes: {},
  schema: z.strictObject({
    v: z.literal(1),
    fence: z.int().min(1),
  }),
})
