/** @module The request to erase a subject's data (LIFE-7). */
import { z } from 'zod'

/** Recorded permanently, so it must not name a person. */
export const ErasureReason = z.string().min(1).max(1_024)
/** The law or the contract that requires the erasure. */
export const ErasureBasis = z.string().min(1).max(256)

export const EraseSubject = z.strictObject({
  reason: ErasureReason.describe('Why, recorded for good: name no person.'),
  basis: ErasureBasis.describe('The law or the contract that it follows; it is recorded.'),
  now: z.boolean().optional().describe('Do not wait for the end of open runs.'),
})

export type EraseSubject = z.infer<typeof EraseSubject>
