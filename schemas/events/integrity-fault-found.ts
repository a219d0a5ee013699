/**
 * @module IntegrityFaultFound: a stored event is missing or is not the one sealed for its position; in `ledger-<tenant>`, once per position
 * (LOG-24).
 */
import { z } from 'zod'
import { eventType } from '../event-type.ts'

const STREAM_MAX_CHARS = 512

export const IntegrityFaultFound = eventType({
  family: 'ledger',
  label: 'Integrity fault found',
  activity: 'update',
  rating: { verdict: null, outcome: 'failure', severity: 'high' },
  facts: [],
  rules: 'code',
  notable: true,
  changes: {},
  schema: z.strictObject({
    v: z.literal(1),
    /** The position where the event is, or was. */
    stream: z.string().min(1).max(STREAM_MAX_CHARS),
    revision: z.int().min(0),
    /** The first check that failed: `mac`, `data-digest`, `missing` and so on. */
    code: z.string().min(1).max(64),
    message: z.string().min(1).max(1_024),
    /** What found the fault: the scrub, or a read of the event. */
    foundBy: z.enum(['scrub', 'read']),
  }),
})
