/** @module RunRewound: the context of an earlier step is restored. */
import { z } from 'zod'
import { place } from '../envelope-members.ts'
import { eventType } from '../event-type.ts'
import { Digest } from '../names.ts'
import { Redacted } from '../redaction.ts'
import { JsonRecord, Uuid } from '../values.ts'

export const RunRewound = eventType({
  family: 'handoff',
  label: 'Run rewound',
  activity: 'update',
  rating: { verdict: 'rewound', outcome: 'success', severity: 'informational' },
  facts: [],
  notable: true,
  changes: {},
  schema: z.strictObject({
    v: z.literal(1),
    redacted: Redacted.optional(),
    fromStep: z.int().min(0),
    toStep: z.int().min(0),
    /** Revision of the event whose context is restored: an EnvelopeAccepted or RunStarted. */
    snapshot: z.int().min(0),
    cause: z.enum(['contradiction', 'rollback']),
    reason: z.string().optional(),
    ...place,
    /** Digest of the restored context. */
    context: Digest,
    /** The restored context itself, unless it is that of the last snapshot, so that a fold need not look back. */
    restored: JsonRecord.optional(),
    /** Calls claimed since that step; the calls and their effects remain. */
    callsSince: z.array(Uuid),
  }),
})
