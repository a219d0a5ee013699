/** @module Answers about a run's budget. */
import { z } from 'zod'
import { Currency, Money } from '../names.ts'
import type { Answer } from './answer.ts'

/** Amounts spent and reserved, with the limits of the whole run. */
export const BUDGET_TOTALS = {
  tokens: z.int().min(0),
  cost: z.string(),
  reservedTokens: z.int().min(0),
  reservedCost: z.string(),
  currency: Currency.optional(),
  limits: z.strictObject({ tokens: z.int().min(0).optional(), cost: Money.optional() }),
} as const

export const BudgetTotals = z.strictObject(BUDGET_TOTALS)

export type BudgetTotals = Answer<typeof BudgetTotals>
