/** @module Answers about a run's budget. */
import { z } from 'zod'
import { Currency, Money, Name } from '../names.ts'
import { BudgetLimits, Usage, Uuid } from '../values.ts'
import { type Answer, Count, list, READ, RECORDED } from './answer.ts'

const SPEND = { tokens: Count, cost: z.string(), reservedTokens: Count, reservedCost: z.string() } as const

/** Amounts spent and reserved, with the limits of the whole run. */
const BUDGET_TOTALS = {
  ...SPEND,
  currency: Currency.optional(),
  limits: z.strictObject({ tokens: Count.optional(), cost: Money.optional() }),
} as const

export const BudgetTotals = z.strictObject(BUDGET_TOTALS)

const Reservation = z.strictObject({
  reservationId: Uuid,
  agent: Name,
  tokens: Count,
  cost: z.string(),
  deadline: z.string(),
  callId: Uuid.optional(),
  status: z.enum(['open', 'settled', 'released', 'expired']).describe('Status of the reservation.'),
})

export const BudgetAnswer = z
  .strictObject({
    ...BUDGET_TOTALS,
    agents: z.record(Name, z.strictObject(SPEND)).describe('What was spent and reserved, by agent.'),
    agentLimits: BudgetLimits.shape.agents.unwrap(),
    reservations: list(Reservation),
    nextCursor: z.string().nullable(),
    ...READ,
  })
  .meta({ id: 'Budget' })

export const ReservedAnswer = z
  .strictObject({
    ...RECORDED,
    reservationId: Uuid,
    agent: Name,
    tokens: Count,
    cost: z.string(),
    deadline: z.string(),
    budget: BudgetTotals,
  })
  .meta({ id: 'Reserved' })

export const UsageAnswer = z
  .strictObject({
    ...RECORDED,
    usage: Usage,
    overshoot: z
      .strictObject({ tokens: Count, cost: Money })
      .optional()
      .describe('By how much the totals are over a limit now.'),
    budget: BudgetTotals,
  })
  .meta({ id: 'Charged' })

export const ReleasedAnswer = z
  .strictObject({ ...RECORDED, reservationId: Uuid, budget: BudgetTotals })
  .meta({ id: 'Released' })

export type BudgetTotals = Answer<typeof BudgetTotals>
/** Totals and limits of a run, by agent as well, and a page of its reservations. */
export type BudgetAnswer = Answer<typeof BudgetAnswer>
export type ReservedAnswer = Answer<typeof ReservedAnswer>
export type UsageAnswer = Answer<typeof UsageAnswer>
export type ReleasedAnswer = Answer<typeof ReleasedAnswer>
