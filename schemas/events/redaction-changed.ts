/** @module RedactionChanged: other redaction rules apply to the run's record from now on; earlier events keep the rules that were in force then. */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { Digest } from '../names.ts'
import { RedactionInForce } from '../redaction.ts'

export const RedactionChanged = eventType({
  family: 'run',
  label: 'Redaction changed',
  activity: 'update',
  rating: { verdict: null, outcome: 'success', severity: 'low' },
  facts: [],
  notable: true,
  changes: {},
  schema: z.strictObject({
    v: z.literal(1),
    /** All rules in force. */
    rules: RedactionInForce.readonly(),
    /** SHA-256 over the canonical text of the rules. */
    policy: Digest,
  }),
})
