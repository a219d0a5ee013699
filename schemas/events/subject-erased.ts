/**
 * @module SubjectErased: the keys of a subject are destroyed, so nothing encrypted under them can be read again (LIFE-7). Proofs of those
 * events remain valid.
 */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { Uuid } from '../values.ts'

const Count = z.int().min(0)

export const SubjectErased = eventType({
  family: 'ledger',
  label: 'Subject erased',
  activity: 'update',
  rating: { verdict: null, outcome: 'success', severity: 'low' },
  facts: [],
  notable: true,
  changes: {},
  schema: z.strictObject({
    v: z.literal(1),
    /** Id of the preceding `ErasureRequested`. */
    request: Uuid,
    keyIds: z.array(Uuid).min(1),
    /** Amount of data that was encrypted under the keys. */
    counts: z.strictObject({ runs: Count, events: Count, values: Count }),
    /** Exports and bundles issued before, newest first, the first 100: they contain the ciphertext but no key. */
    copies: z.strictObject({
      total: Count,
      last: z.array(z.strictObject({ exportId: Uuid, at: z.iso.datetime(), actor: z.string() })).max(100),
    }),
  }),
})
