/** @module The snapshot document, which a replay rebuilds and compares (STR-10). */
import { z } from 'zod'
import { Digest, Money, Name } from './names.ts'
import { HANDOFF_SNAPSHOT_VERSION, SNAPSHOT_OPEN_MAX, SNAPSHOT_VERSION } from './value-forms.ts'
import { Tokens, Uuid } from './values.ts'

const Spend = z.strictObject({
  tokens: z.int().min(0),
  cost: Money,
  reservedTokens: z.int().min(0),
  reservedCost: Money,
})

const OpenCall = z.strictObject({ callId: Uuid, tool: Name, status: z.enum(['claimed', 'in-doubt']), fence: z.int() })
const OpenReservation = z.strictObject({ reservationId: Uuid, agent: Name, tokens: Tokens, cost: Money })

export const Snapshot = z.strictObject({
  v: z.literal(SNAPSHOT_VERSION),
  step: z.int().min(0),
  /** Digest of the established context's JCS bytes. */
  context: Digest,
  budget: Spend,
  openCalls: z.array(OpenCall),
  openReservations: z.array(OpenReservation),
})

export const HandoffSnapshot = z.strictObject({
  v: z.literal(HANDOFF_SNAPSHOT_VERSION),
  step: z.int().min(1),
  /** Digest of the JCS bytes of the established context, which results from this event and the preceding ones. */
  context: Digest,
  budget: Spend,
  /** In order of claim. */
  openCalls: z.array(OpenCall).max(SNAPSHOT_OPEN_MAX),
  /** Total number, if there are more than are listed. */
  openCallsTotal: z.int().optional(),
  openReservations: z.array(OpenReservation).max(SNAPSHOT_OPEN_MAX),
  openReservationsTotal: z.int().optional(),
})

export type Snapshot = z.infer<typeof Snapshot>
export type HandoffSnapshot = z.infer<typeof HandoffSnapshot>
