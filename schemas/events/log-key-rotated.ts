/** @module LogKeyRotated: another key signs checkpoints from now on, named in a note signed by its predecessor (LOG-28). In `ledger-system`. */
import { z } from 'zod'
import { eventType } from '../event-type.ts'

const VERIFIER_KEY_MAX_CHARS = 512
const SUCCESSION_MAX_CHARS = 4_096

export const LogKeyRotated = eventType({
  family: 'ledger',
  label: 'Log key rotated',
  activity: 'update',
  rating: { verdict: null, outcome: 'success', severity: 'informational' },
  facts: [],
  ofService: true,
  changes: {},
  schema: z.strictObject({
    v: z.literal(1),
    /** C2SP signed-note verifier keys under the ledger's origin. */
    previousKey: z.string().max(VERIFIER_KEY_MAX_CHARS),
    verifierKey: z.string().max(VERIFIER_KEY_MAX_CHARS),
    /** The signed note in which the previous key names the new one, verbatim. */
    succession: z.string().max(SUCCESSION_MAX_CHARS),
  }),
})
