/**
 * @module TokenIssued: `countersign token` issued an access token with this ledger's keys; in `ledger-system` (LOG-31). Never contains the
 * token itself.
 */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { Uuid } from '../values.ts'

const TEXT_MAX_CHARS = 1_024
const Text = z.string().min(1).max(TEXT_MAX_CHARS)
const Time = z.iso.datetime()

export const TokenIssued = eventType({
  family: 'access',
  label: 'Token issued',
  activity: 'create',
  rating: { verdict: null, outcome: 'success', severity: 'informational' },
  facts: [],
  changes: {},
  schema: z.strictObject({
    v: z.literal(1),
    /** Id of the token (`jti`), and of the key that signed it. */
    token: Uuid,
    kid: Text,
    /** The token's claims. */
    subject: Text,
    forTenant: Text,
    scopes: z.array(Text).min(1).max(64),
    run: Text.optional(),
    forAgent: Text.optional(),
    roles: z.array(Text).max(64).optional(),
    actor: Text.optional(),
    issuedAt: Time,
    expires: Time,
  }),
})
