/** @module LedgerCreated: the identity of this ledger, at revision 0 of `ledger-system` (STR-3). */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { Name } from '../names.ts'
import { Uuid } from '../values.ts'

export const LedgerCreated = eventType({
  family: 'ledger',
  label: 'Ledger created',
  activity: 'create',
  rating: { verdict: null, outcome: 'success', severity: 'informational' },
  facts: [],
  changes: {},
  schema: z.strictObject({
    v: z.literal(1),
    ledgerId: Uuid,
    /** URL without a scheme, spaces or pluses: the permanent prefix of every log's origin. */
    origin: z.string().regex(/^[a-z0-9][a-z0-9./-]{0,200}$/),
    kid: Name,
    /** C2SP signed-note verifier key of the checkpoints. */
    verifierKey: z.string().max(512),
  }),
})
