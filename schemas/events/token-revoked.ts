/** @module TokenRevoked: an access token of the tenant is refused from now on (HTTP-82). Names the token by its `jti`, never the token itself. */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { RevocationReason, TOKEN_ID_MAX_CHARS } from '../token.ts'

export const TokenRevoked = eventType({
  family: 'ledger',
  label: 'Token revoked',
  activity: 'update',
  rating: { verdict: null, outcome: 'success', severity: 'low' },
  facts: [],
  changes: {},
  schema: z.strictObject({
    v: z.literal(1),
    /** The token's `jti`. */
    token: z.string().min(1).max(TOKEN_ID_MAX_CHARS),
    reason: RevocationReason.optional(),
  }),
})
