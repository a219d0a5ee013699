/** @module The snapshot document: what replay rebuilds and compares, as of the event before it (STR-10). */
import { z } from 'zod'
import { Digest, Money, Name } from './names.ts'
import { Tokens, Uuid } from './values.ts'

export const SNAPSHOT_VERSION = 1

const Spend = z.strictObject({
  tokens: z.int().min(0),
  cost: Money,
  reservedTokens: z.int().min(0),
  reservedCost: Money,
})

export const Snapshot = z.strictObject({
  v: z.literal(SNAPSHOT_VERSION),
  step: z.int().min(0),
  /** Digest of the established context's JCS bytes. */
  context: Digest,
  budget: Spend,
  openCalls: z.array(
    z.strictObject({ callId: Uuid, tool: Name, status: z.enum(['claimed', 'in-doubt']), fence: z.int() }),
  ),
  openReservations: z.array(z.strictObject({ reservationId: Uuid, agent: Name, tokens: Tokens, cost: Money })),
})

export type Snapshot = z.infer<typeof Snapshot>
