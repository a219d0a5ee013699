/** @module ResultNotRecorded: a tool ran but its result could not be recorded, so the run is rolled back, including this call (RUN-11). */
import { z } from 'zod'
import { callIdentity } from '../call-members.ts'
import { eventType } from '../event-type.ts'
import { Redacted } from '../redaction.ts'

export const ResultNotRecorded = eventType({
  family: 'call',
  label: 'Result not recorded',
  activity: 'update',
  rating: { verdict: null, outcome: 'failure', severity: 'medium' },
  facts: ['call'],
  changes: {},
  schema: z.strictObject({
    v: z.literal(1),
    redacted: Redacted.optional(),
    ...callIdentity,
    reason: z.string().max(1024),
  }),
})
