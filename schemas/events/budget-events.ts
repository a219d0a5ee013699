/** @module Bodies of budget events (RUN-43 to RUN-49). */
import { z } from 'zod'
import { Currency, Digest, Money, Name } from '../names.ts'
import { Phase, Tokens, Usage, Uuid } from '../values.ts'

export const BudgetReserved = z.strictObject({
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
})

export const UsageRecorded = z.strictObject({
  v: z.literal(1),
  agent: Name,
  usage: Usage,
  reservationId: Uuid.optional(),
  callId: Uuid.optional(),
  /** What the sum now stands at over a limit; absent where it is within all. */
  overshoot: z.strictObject({ tokens: z.int().min(0), cost: Money }).optional(),
})

export const BudgetReleased = z.strictObject({
  v: z.literal(1),
  reservationId: Uuid,
  reason: z.string().max(1024).optional(),
})

/** The reservation's deadline passed unsettled: charged in full as an estimate; a late settle corrects it. */
export const ReservationExpired = z.strictObject({
  v: z.literal(1),
  reservationId: Uuid,
  /** Ended before its deadline: the attempt that it was for is gone, and its call was claimed anew, or the run is completed without it. */
  cause: z.enum(['claimed-anew', 'run-completed']).optional(),
})

export const BudgetExceeded = z.strictObject({
  v: z.literal(1),
  agent: Name,
  scope: z.enum(['run', 'agent']),
  dimension: z.enum(['tokens', 'cost']),
  limit: z.string(),
  spent: z.string(),
  reserved: z.string(),
  requested: z.string(),
  fingerprint: Digest,
  /** The claim that was refused, where it was one: a resume is served the refusal. */
  claim: z.strictObject({ tool: Name, phase: Phase, key: z.string().min(1).max(512) }).optional(),
})
