/** @module LossAcknowledged: somebody with the scope `admin` says that events are lost for good; in `ledger-<tenant>`. The log goes on past them (LOG-63). */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { Digest } from '../names.ts'

const STREAM_MAX_CHARS = 512
/** Events that one acknowledgement names. */
export const ACKNOWLEDGED_MAX = 1_000

/** On record for good: it names no person. */
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
    /** The first revision that is lost. */
    from: z.int().min(0),
    /** The last one. */
    to: z.int().min(0),
    what: z.enum(['missing', 'damaged']),
    /** What did not hold at the first of them: `mac`, `data-digest`, `missing` and so on. */
    code: z.string().min(1).max(64),
    /** Whether the log had the event as a leaf (`log`), or what lies beside the loss says which event it was (`store`). */
    seenBy: z.enum(['log', 'store']),
    reason: LossReason,
    /** Of each lost event, in the order of the revisions: its place in the tenant's log and the digest of its header. */
    leaves: z
      .array(z.strictObject({ index: z.int().min(0), digest: Digest }))
      .min(1)
      .max(ACKNOWLEDGED_MAX),
  }),
})
