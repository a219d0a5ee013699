/** @module The request to sign off a review of the record (LIFE-40). */
import { z } from 'zod'

const FINDINGS_MAX_CHARS = 4_096
const COMMENT_MAX_CHARS = 1_024
const FILTER_MAX_CHARS = 1_024

/** Recorded permanently, so it must not name a person. */
export const ReviewFindings = z.string().min(1).max(FINDINGS_MAX_CHARS)
export const ReviewComment = z.string().min(1).max(COMMENT_MAX_CHARS)
export const ReviewQuery = z.string().regex(/^[a-z][a-z-]{0,63}$/, 'takes the name of an audit query')
/** Filters as given, by name; `by` and `seed` are among them. */
export const ReviewFilters = z.record(z.string().max(64), z.string().max(FILTER_MAX_CHARS))

export const SignReview = z.strictObject({
  query: ReviewQuery.describe('Name of the audit query whose answer was reviewed, such as `rejections`.'),
  filters: ReviewFilters.optional().describe('Its filters, by name, as in its URL.'),
  asOf: z.int().min(1).describe('Size of the log that was reviewed, in events: `asOf.treeSize` of the answer.'),
  findings: ReviewFindings.describe('What the review found. It is recorded permanently and must name no person.'),
  comment: ReviewComment.optional().describe('A remark, such as what follows from it. It is recorded permanently.'),
})

export type SignReview = z.infer<typeof SignReview>
