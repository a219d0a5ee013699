/** @module RedactionChanged: from here on other rules say what is left out of the run's record: what was in force before stays so. */
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
    /** All that are in force. */
    rules: RedactionInForce.readonly(),
    /** SHA-256 over their canonical text. */
    policy: Digest,
  }),
})
