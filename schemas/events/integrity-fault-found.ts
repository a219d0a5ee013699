/** @module IntegrityFaultFound: an event of the store is not the one that was sealed for its place, or is gone; in `ledger-<tenant>`, once a place (LOG-24). */
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
    /** Where the event stands, or stood. */
    stream: z.string().min(1).max(STREAM_MAX_CHARS),
    revision: z.int().min(0),
    /** What did not hold first: `mac`, `data-digest`, `missing` and so on. */
    code: z.string().min(1).max(64),
    message: z.string().min(1).max(1_024),
    /** Who came upon it: the scrub, or a reading of the event. */
    foundBy: z.enum(['scrub', 'read']),
  }),
})
