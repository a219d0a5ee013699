/**
 * @module SuspectReviewed: a person confirms or rejects suspects of the run; a rejection is recorded together with the RunRewound before it
 * (JUD-63, JUD-64).
 */
import { z } from 'zod'
import { eventType, ratedBy } from '../event-type.ts'
import { Redacted } from '../redaction.ts'
import { REVIEW } from '../values.ts'

const schema = z.strictObject({
  v: z.literal(1),
  redacted: Redacted.optional(),
  ...REVIEW,
})

export const SuspectReviewed = eventType({
  family: 'handoff',
  label: 'Suspect reviewed',
  activity: 'update',
  rating: ratedBy(schema, 'decision', {
    confirmed: { verdict: null, outcome: 'success', severity: 'informational' },
    rejected: { verdict: null, outcome: 'success', severity: 'medium' },
  }),
  facts: [],
  notable: true,
  announced: { as: 'suspect.reviewed', members: ['suspects', 'decision'] },
  changes: {},
  schema,
})
