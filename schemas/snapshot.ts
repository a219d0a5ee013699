/** @module The snapshot document: what replay rebuilds and compares (STR-10). */
import { z } from 'zod'
import { Digest, Money, Name } from './names.ts'
import { Tokens, Uuid } from './values.ts'

/** In a SnapshotTaken: as of the event before it. */
export const SNAPSHOT_VERSION = 1
/** In an EnvelopeAccepted: as of that event. */
export const HANDOFF_SNAPSHOT_VERSION = 2
/** Open calls and reservations that a handoff's snapshot lists; beyond them it counts: a handoff does not grow with what stands open. */
export const SNAPSHOT_OPEN_MAX = 100

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
  /** Digest of the established context's JCS bytes: the context itself is what the events before it and this one make. */
  context: Digest,
  budget: Spend,
  /** In order of claim. */
  openCalls: z.array(OpenCall).max(SNAPSHOT_OPEN_MAX),
  /** All of them, where they are more than are listed. */
  openCallsTotal: z.int().optional(),
  openReservations: z.array(OpenReservation).max(SNAPSHOT_OPEN_MAX),
  openReservationsTotal: z.int().optional(),
})

export type Snapshot = z.infer<typeof Snapshot>
export type HandoffSnapshot = z.infer<typeof HandoffSnapshot>
