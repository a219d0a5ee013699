/** @module The request that revokes an access token (HTTP-82). */
import { z } from 'zod'

export const TOKEN_ID_MAX_CHARS = 1_024
const REASON_MAX_CHARS = 1_024

/** The `jti` of a token: of any issuer, so any text of this length. */
export const TokenId = z
  .string()
  .min(1)
  .max(TOKEN_ID_MAX_CHARS)
  .refine((text) => text.isWellFormed() && !/\p{Cc}/u.test(text), 'takes a jti without control characters')

/** Recorded permanently, so it must not name a person. */
export const RevocationReason = z.string().min(1).max(REASON_MAX_CHARS)

export const RevokeToken = z.strictObject({
  token: TokenId.describe('The `jti` of the token: its id, not the token itself.'),
  reason: RevocationReason.optional().describe('Why. It is recorded permanently and must name no person.'),
})

export type RevokeToken = z.infer<typeof RevokeToken>
