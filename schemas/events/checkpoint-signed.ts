/**
 * @module CheckpointSigned: the signed checkpoint of the tenant's log up to `size` leaves; in `ledger-<tenant>`. This event alone does not
 * require a new checkpoint (STR-3).
 */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { Digest } from '../names.ts'

/** Maximum length of a checkpoint's signed note: three lines and one signature. */
const NOTE_MAX_CHARS = 2_048

export const CheckpointSigned = eventType({
  family: 'ledger',
  label: 'Checkpoint signed',
  activity: 'update',
  rating: { verdict: null, outcome: 'success', severity: 'informational' },
  facts: [],
  routine: true,
  changes: {},
  schema: z.strictObject({
    v: z.literal(1),
    /** `<origin>/<tenant>`: the name of the log and of the key. */
    origin: z.string().min(1).max(512),
    size: z.int().min(1),
    root: Digest,
    /** C2SP tlog-checkpoint: the signed note, verbatim. */
    note: z.string().min(1).max(NOTE_MAX_CHARS),
  }),
})
