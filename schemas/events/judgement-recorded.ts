/** @module JudgementRecorded: the verdict of an external judge on an accepted handoff, mainly on its prose. */
import { z } from 'zod'
import { eventType, ratedBy } from '../event-type.ts'
import { Finding } from '../finding.ts'
import { Name } from '../names.ts'
import { Redacted } from '../redaction.ts'
import { JUDGEMENT } from '../values.ts'

const schema = z.strictObject({
  v: z.literal(1),
  redacted: Redacted.optional(),
  /** The agent whose handoff was judged. */
  agent: Name,
  ...JUDGEMENT,
  /** Findings of the rule `judged`. */
  findings: z.array(Finding),
})

export const JudgementRecorded = eventType({
  family: 'handoff',
  label: 'Judgement recorded',
  activity: 'create',
  rating: ratedBy(schema, 'verdict', {
    accept: { verdict: null, outcome: 'success', severity: 'informational' },
    reject: { verdict: null, outcome: 'success', severity: 'medium' },
    unavailable: { verdict: null, outcome: 'failure', severity: 'medium' },
  }),
  facts: ['agent', 'model'],
  rules: 'findings',
  notable: true,
  changes: {},
  schema,
})
