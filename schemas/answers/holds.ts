/** @module Answers about legal holds (LIFE-20 to LIFE-22). */
import { z } from 'zod'
import { HOLD_SCOPES } from '../hold.ts'

const Item = z.strictObject({
  hold: z.string().describe('Id of the hold.'),
  state: z.enum(['active', 'released']).describe('`active`: nothing that it covers is erased.'),
  scope: z.enum(HOLD_SCOPES).describe('What is held.'),
  run: z.string().optional().describe('The held run.'),
  keyIds: z.array(z.string()).optional().describe('Ids of the keys of the held subject.'),
  reason: z.string().describe('Why it was placed.'),
  placedBy: z.string().describe('Who placed it.'),
  placedAt: z.string().describe('When it was placed.'),
  releasedBy: z.string().optional().describe('Who released it.'),
  releasedAt: z.string().optional().describe('When it was released.'),
  releaseReason: z.string().optional().describe('Why it was released.'),
})

export const HoldAnswer = Item.meta({ id: 'Hold' })
export const HoldsAnswer = z
  .strictObject({
    items: z.array(Item).describe('All active holds, then the 1,000 released last; the newest first.'),
  })
  .meta({ id: 'Holds' })

export type HoldAnswer = z.infer<typeof HoldAnswer>
export type HoldsAnswer = z.infer<typeof HoldsAnswer>
