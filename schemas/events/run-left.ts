/** @module RunLeft: the code that carried a run has left it open; from now on a worker may carry it on (RUN-223). */
import { z } from 'zod'
import { eventType, ratedBy } from '../event-type.ts'
import { LEFT_BECAUSE } from '../run-status.ts'

const schema = z
  .strictObject({
    v: z.literal(1),
    fence: z.int().min(1),
    /** `waiting`: for a signal, an approval or a time. `stuck`: its code cannot carry it on. `retry`: it was stuck, and somebody asked that it be tried at once. */
    because: z.enum(LEFT_BECAUSE),
    /** Why the code cannot carry it on. */
    error: z.strictObject({ code: z.string().min(1).max(128), message: z.string().max(2000) }).optional(),
    /** How often in a row the run was left as stuck, this time included. */
    attempts: z.int().min(1).optional(),
    /** When it was first left as stuck; RFC 3339. */
    since: z.string().optional(),
    /** No worker takes the run before this time; RFC 3339. */
    until: z.string().optional(),
  })
  .refine(
    ({ because, error, attempts, since, until }) =>
      [error, attempts, since, until].every((member) => (member !== undefined) === (because === 'stuck')),
    'a run that is stuck says why, how often, since when, and until when it is left alone',
  )

export const RunLeft = eventType({
  family: 'run',
  label: 'Run left',
  activity: 'update',
  rating: ratedBy(schema, 'because', {
    waiting: { verdict: null, outcome: 'success', severity: 'informational' },
    stuck: { verdict: null, outcome: 'failure', severity: 'medium' },
    retry: { verdict: null, outcome: 'success', severity: 'informational' },
  }),
  facts: [],
  changes: {},
  schema,
})
