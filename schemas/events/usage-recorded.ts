/** @module UsageRecorded: the usage of a call or an answer (RUN-43 to RUN-49). */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { Money, Name } from '../names.ts'
import { Usage, Uuid } from '../values.ts'

export const UsageRecorded = eventType({
  family: 'budget',
  label: 'Usage recorded',
  activity: 'update',
  rating: ({ overshoot }) =>
    overshoot === undefined
      ? { verdict: null, outcome: 'success', severity: 'informational' }
      : { verdict: 'overshoot', outcome: 'success', severity: 'medium' },
  facts: ['agent', 'call', 'reservation', 'provider', 'model'],
  changes: { reservation: 'settled', bill: true },
  schema: z.strictObject({
    v: z.literal(1),
    agent: Name,
    usage: Usage,
    reservationId: Uuid.optional(),
    callId: Uuid.optional(),
    /** Amount by which the total now exceeds a limit; absent if it is within all limits. */
    overshoot: z.strictObject({ tokens: z.int().min(0), cost: Money }).optional(),
  }),
})
