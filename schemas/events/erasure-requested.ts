/**
 * @module ErasureRequested: a request to erase the stored values of a subject, recorded before any key is destroyed (LIFE-7). Names keys,
 * never the subject.
 */
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
    /** The keys to be destroyed. */
    keyIds: z.array(Uuid).min(1),
    reason: ErasureReason,
    basis: ErasureBasis,
    /** Open runs that use a key; the erasure waits for their end. The first 100. */
    waitsFor: z.array(z.string()).max(100).optional(),
    /** The erasure does not wait for open runs: they cannot be resumed or undone with those values. */
    now: z.literal(true).optional(),
  }),
})
