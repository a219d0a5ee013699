/** @module BudgetReserved: an amount is reserved for an upcoming call (RUN-43 to RUN-49). */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { Currency, Money, Name } from '../names.ts'
import { Tokens, Uuid } from '../values.ts'

export const BudgetReserved = eventType({
  family: 'budget',
  label: 'Budget reserved',
  activity: 'create',
  rating: { verdict: null, outcome: 'success', severity: 'informational' },
  facts: ['agent', 'call', 'reservation', 'provider', 'model'],
  routine: true,
  changes: { reservation: 'open', bill: true },
  schema: z.strictObject({
    v: z.literal(1),
    reservationId: Uuid,
    agent: Name,
    tokens: Tokens,
    cost: Money,
    currency: Currency.optional(),
    provider: Name.optional(),
    model: Name.optional(),
    deadline: z.string(),
    callId: Uuid.optional(),
  }),
})
