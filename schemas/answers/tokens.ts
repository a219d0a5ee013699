/** @module Answers about revoked access tokens (HTTP-82, HTTP-83). */
import { z } from 'zod'
import { Count, READ } from './answer.ts'

const Item = z.strictObject({
  token: z.string().describe('The `jti` of the token.'),
  revokedBy: z.string().describe('Who revoked it.'),
  revokedAt: z.string().describe('When it was revoked.'),
  reason: z.string().optional().describe('Why it was revoked.'),
})

export const RevokedTokenAnswer = Item.extend({
  known: z
    .boolean()
    .describe(
      'Whether the record shows that `countersign token` issued it for the tenant; false for tokens of other issuers.',
    ),
}).meta({ id: 'RevokedToken' })
export const RevokedTokensAnswer = z
  .strictObject({
    items: z.array(Item).describe('The 1,000 tokens that were revoked last, the newest first.'),
    count: Count.describe('How many are revoked.'),
    ...READ,
  })
  .meta({ id: 'RevokedTokens' })

export type RevokedToken = z.infer<typeof Item>
export type RevokedTokenAnswer = z.infer<typeof RevokedTokenAnswer>
export type RevokedTokensAnswer = z.infer<typeof RevokedTokensAnswer>
