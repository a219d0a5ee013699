/**
 * @module LossAcknowledged: a caller with the scope `admin` declares events as permanently lost; in `ledger-<tenant>`. The log continues
 * past them (LOG-63).
 */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { Digest } from '../names.ts'

const STREAM_MAX_CHARS = 512
/** Maximum number of events in one acknowledgement. */
export const ACKNOWLEDGED_MAX = 1_000

/** Recorded permanently, so it must not name a person. */
export const LossReason = z.string().min(1).max(1_024)

export const LossAcknowledged = eventType({
  family: 'ledger',
  label: 'Loss acknowledged',
  activity: 'update',
  rating: { verdict: null, outcome: 'failure', severity: 'high' },
  facts: [],
  rules: 'code',
  notable: true,
  changes: {},
  schema: z.strictObject({
    v: z.literal(1),
    stream: z.string().min(1).max(STREAM_MAX_CHARS),
    /** The first lost revision. */
    from: z.int().min(0),
    /** The last lost revision. */
    to: z.int().min(0),
    what: z.enum(['missing', 'damaged']),
    /** The check that failed at the first of them: `mac`, `data-digest`, `missing` and so on. */
    code: z.string().min(1).max(64),
    /** How the event was identified: by its leaf in the log (`log`), or by the data around the loss (`store`). */
    seenBy: z.enum(['log', 'store']),
    reason: LossReason,
    /** For each lost event, in the order of the revisions: its leaf index in the tenant's log and the digest of its header. */
    leaves: z
      .array(z.strictObject({ index: z.int().min(0), digest: Digest }))
      .min(1)
      .max(ACKNOWLEDGED_MAX),
  }),
})
