/** @module RunCompleted: a run ends with its output. */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { Redacted } from '../redaction.ts'
import { JsonValue } from '../values.ts'

export const RunCompleted = eventType({
  family: 'run',
  label: 'Run completed',
  activity: 'update',
  rating: { verdict: 'completed', outcome: 'success', severity: 'informational' },
  facts: [],
  changes: { run: 'completed' },
  schema: z.strictObject({ v: z.literal(1), redacted: Redacted.optional(), output: JsonValue.optional() }),
})
