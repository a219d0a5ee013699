/** @module SignalPassedOver: a signal that was held does not fit the schema of the wait that would have taken it: no wait gets it (RUN-68). */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { Name } from '../names.ts'
import { Uuid } from '../values.ts'

export const SignalPassedOver = eventType({
  family: 'run',
  label: 'Signal passed over',
  activity: 'update',
  rating: { verdict: null, outcome: 'failure', severity: 'medium' },
  facts: [],
  notable: true,
  changes: {},
  schema: z.strictObject({
    v: z.literal(1),
    signalId: Uuid,
    name: Name,
    waitId: Uuid,
    /** Where the payload does not fit, as far as it is listed. */
    faults: z.array(z.strictObject({ path: z.string(), message: z.string() })),
  }),
})
