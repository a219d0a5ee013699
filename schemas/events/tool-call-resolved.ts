/** @module ToolCallResolved: somebody looked, and says what became of a call in doubt. */
import { z } from 'zod'
import { callIdentity } from '../call-members.ts'
import { eventType, saysBy } from '../event-type.ts'
import { JsonValue } from '../values.ts'

const schema = z.strictObject({
  v: z.literal(1),
  ...callIdentity,
  outcome: z.enum(['executed', 'not-executed', 'compensated']),
  result: JsonValue.optional(),
  evidence: JsonValue,
})

export const ToolCallResolved = eventType({
  family: 'call',
  label: 'Tool call resolved',
  activity: 'update',
  says: saysBy(schema, 'outcome', {
    executed: { verdict: 'executed', outcome: 'success', severity: 'informational' },
    'not-executed': { verdict: 'not-executed', outcome: 'success', severity: 'informational' },
    compensated: { verdict: 'compensated', outcome: 'success', severity: 'informational' },
  }),
  facts: ['call'],
  notable: true,
  changes: { call: 'settled' },
  schema,
})
