/**
 * @module ReservationExpired: the reservation's deadline passed without a settle. It is charged in full as an estimate, which a late settle
 * corrects (RUN-43 to RUN-49).
 */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { Uuid } from '../values.ts'

export const ReservationExpired = eventType({
  family: 'budget',
  label: 'Reservation expired',
  activity: 'update',
  rating: { verdict: 'expired', outcome: 'success', severity: 'informational' },
  facts: ['reservation'],
  notable: true,
  changes: { reservation: 'expired', bill: true },
  schema: z.strictObject({
    v: z.literal(1),
    reservationId: Uuid,
    /** The reservation ended before its deadline: its attempt is gone and the call was claimed again, or the run completed without it. */
    cause: z.enum(['claimed-anew', 'run-completed']).optional(),
  }),
})
