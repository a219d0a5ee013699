/** @module ToolCallResolved: the outcome of a call in doubt, as stated after an inspection. */
import { z } from 'zod'
import { callIdentity, callVersion, isVersionOf, VERSION_RULE } from '../call-members.ts'
import { eventType, ratedBy } from '../event-type.ts'
import { Redacted } from '../redaction.ts'
import { JsonValue, ValueRef } from '../values.ts'

const schema = z
  .strictObject({
    v: callVersion,
    ...callIdentity,
    redacted: Redacted.optional(),
    outcome: z.enum(['executed', 'not-executed', 'compensated']),
    result: JsonValue.optional(),
    /** Replaces `result` if the value is stored separately from the event. */
    resultRef: ValueRef.optional(),
    evidence: JsonValue,
  })
  .refine((body) => isVersionOf(body, body.resultRef), VERSION_RULE)

export const ToolCallResolved = eventType({
  family: 'call',
  label: 'Tool call resolved',
  activity: 'update',
  rating: ratedBy(schema, 'outcome', {
    executed: { verdict: 'executed', outcome: 'success', severity: 'informational' },
    'not-executed': { verdict: 'not-executed', outcome: 'success', severity: 'informational' },
    compensated: { verdict: 'compensated', outcome: 'success', severity: 'informational' },
  }),
  facts: ['call'],
  notable: true,
  large: 'result',
  changes: { call: 'settled' },
  schema,
})
