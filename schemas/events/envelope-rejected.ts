/** @module EnvelopeRejected: a handoff that contradicts established values; its payload stays readable. */
import { z } from 'zod'
import { handoff, rules } from '../envelope-members.ts'
import { eventType } from '../event-type.ts'
import { Finding } from '../finding.ts'

export const EnvelopeRejected = eventType({
  family: 'handoff',
  label: 'Envelope rejected',
  activity: 'update',
  rating: { verdict: 'rejected', outcome: 'failure', severity: 'medium' },
  facts: ['agent'],
  rules: 'findings',
  changes: { bill: true },
  schema: z.strictObject({
    v: z.literal(1),
    ...handoff,
    rules,
    confidence: z.number().optional(),
    findings: z.array(Finding),
    /** Total number of findings, which may exceed the recorded ones. */
    findingsTotal: z.int(),
  }),
})
