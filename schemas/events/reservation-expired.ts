/** @module ReservationExpired: the reservation's deadline passed unsettled: charged in full as an estimate; a late settle corrects it (RUN-43 to RUN-49). */
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
    /** Ended before its deadline: the attempt that it was for is gone, and its call was claimed anew, or the run is completed without it. */
    cause: z.enum(['claimed-anew', 'run-completed']).optional(),
  }),
})
