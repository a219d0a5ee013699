/** @module ErasureRequested: somebody asked that what is kept of a subject be forgotten; on record before any key is destroyed (LIFE-7). Names keys, never the subject. */
import { z } from 'zod'
import { ErasureBasis, ErasureReason } from '../erasure.ts'
import { eventType } from '../event-type.ts'
import { Uuid } from '../values.ts'

export const ErasureRequested = eventType({
  family: 'ledger',
  label: 'Erasure requested',
  activity: 'update',
  rating: { verdict: null, outcome: 'success', severity: 'low' },
  facts: [],
  notable: true,
  changes: {},
  schema: z.strictObject({
    v: z.literal(1),
    request: Uuid,
    /** The keys that are to be destroyed. */
    keyIds: z.array(Uuid).min(1),
    reason: ErasureReason,
    basis: ErasureBasis,
    /** Runs that are open and use a key: the erasure waits for their end. The first 100. */
    waitsFor: z.array(z.string()).max(100).optional(),
    /** It did not wait for them: they cannot be resumed or undone with those values. */
    now: z.literal(true).optional(),
  }),
})
