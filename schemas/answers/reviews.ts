/** @module The answer about a review that was signed off (LIFE-40). */
import { z } from 'zod'

export const ReviewAnswer = z
  .strictObject({
    review: z.string().describe('Id of the review.'),
    query: z.string().describe('The query that was reviewed.'),
    asOf: z.int().min(1).describe('Size of the log that was reviewed, in events.'),
    eventId: z.string().optional().describe('Id of the last of these events.'),
  })
  .meta({ id: 'SignedReview' })

export type ReviewAnswer = z.infer<typeof ReviewAnswer>
