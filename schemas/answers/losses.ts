/** @module Answers about a tenant's losses, and about the acknowledgement of one (HTTP-37). */
import { z } from 'zod'
import { LossReason } from '../events/loss-acknowledged.ts'
import { LOSS_SCOPES } from '../loss.ts'
import { READ, Revision } from './answer.ts'

export const AcknowledgeLoss = z.strictObject({
  stream: z.string().min(1).max(512).describe('The stream of the lost event, as the list of losses names it.'),
  revision: Revision.describe('The first revision that is lost.'),
  reason: LossReason.describe('Why it cannot be put back, recorded for good: name no person.'),
})

const Item = z.strictObject({
  state: z.enum(['open', 'acknowledged']).describe('`acknowledged`: the log went on past it.'),
  scope: z.enum(LOSS_SCOPES).describe('Whose it is.'),
  code: z.string().describe('What did not hold, as `verify` names it.'),
  stream: z.string().optional().describe('Where, as far as that is known.'),
  revision: Revision.optional().describe('The first revision that is lost.'),
  to: Revision.optional().describe('The last one, of an acknowledged loss.'),
  reason: z.string().optional().describe('Why it could not be put back.'),
  acknowledgedBy: z.string().optional().describe('Who acknowledged it.'),
  acknowledgedAt: z.string().optional().describe('When.'),
  event: z.string().optional().describe('Id of the event that records it.'),
})

export const LossesAnswer = z
  .strictObject({
    items: z.array(Item).describe('Open losses first, then those that were acknowledged, the oldest first.'),
    ...READ,
  })
  .meta({ id: 'Losses' })

export const AcknowledgementAnswer = z
  .strictObject({
    status: z.enum(['acknowledged', 'known']).describe('`known`: it was acknowledged before.'),
    stream: z.string().describe('The stream of the lost events.'),
    from: Revision.describe('The first revision that is lost.'),
    to: Revision.describe('The last one.'),
    open: z.int().min(0).describe('Losses of the tenant that are still open: its log goes on once there is none.'),
  })
  .meta({ id: 'Acknowledgement' })

export type AcknowledgeLoss = z.infer<typeof AcknowledgeLoss>
export type LossesAnswer = z.infer<typeof LossesAnswer>
export type LossItem = LossesAnswer['items'][number]
export type AcknowledgementAnswer = z.infer<typeof AcknowledgementAnswer>
