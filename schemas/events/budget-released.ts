/** @module BudgetReleased: a reservation was not needed (RUN-43 to RUN-49). */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { Redacted } from '../redaction.ts'
import { Uuid } from '../values.ts'

export const BudgetReleased = eventType({
  family: 'budget',
  label: 'Budget released',
  activity: 'update',
  rating: { verdict: null, outcome: 'success', severity: 'informational' },
  facts: ['reservation'],
  routine: true,
  changes: { reservation: 'released', bill: true },
  schema: z.strictObject({
    v: z.literal(1),
    redacted: Redacted.optional(),
    reservationId: Uuid,
    reason: z.string().max(1024).optional(),
  }),
})
