/** @module ReviewSigned: a person signs off what they read of the record, as of a size of the log (LIFE-40). */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { ReviewComment, ReviewFilters, ReviewFindings, ReviewQuery } from '../review.ts'
import { Uuid } from '../values.ts'

export const ReviewSigned = eventType({
  family: 'access',
  label: 'Review signed',
  activity: 'create',
  rating: { verdict: null, outcome: 'success', severity: 'informational' },
  facts: [],
  notable: true,
  changes: {},
  schema: z.strictObject({
    v: z.literal(1),
    review: Uuid,
    /** Name of the audit query, and its filters as given. */
    query: ReviewQuery,
    filters: ReviewFilters.optional(),
    /** The reviewed part of the tenant's log: its first `treeSize` events, the last of which is `eventId`. */
    asOf: z.strictObject({ treeSize: z.int().min(1), eventId: Uuid.optional() }),
    /** What the review found. In other types `findings` is a list of findings by rule. */
    found: ReviewFindings,
    comment: ReviewComment.optional(),
  }),
})
