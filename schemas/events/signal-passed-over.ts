/** @module SignalPassedOver: a held signal does not fit the schema of the wait that would have received it, so no wait receives it (RUN-68). */
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
    /** The mismatches of the payload; the list may be truncated. */
    faults: z.array(z.strictObject({ path: z.string(), message: z.string() })),
  }),
})
