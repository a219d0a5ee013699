/** @module RunCompleted: a run ends with its output. */
import { z } from 'zod'
import { callVersion, isVersionOf, VERSION_RULE } from '../call-members.ts'
import { eventType } from '../event-type.ts'
import { Redacted } from '../redaction.ts'
import { Aborted, JsonValue, ValueRef } from '../values.ts'

export const RunCompleted = eventType({
  family: 'run',
  label: 'Run completed',
  activity: 'update',
  rating: { verdict: 'completed', outcome: 'success', severity: 'informational' },
  facts: [],
  large: 'output',
  changes: { run: 'completed' },
  schema: z
    .strictObject({
      v: callVersion,
      redacted: Redacted.optional(),
      output: JsonValue.optional(),
      /** Replaces `output` if the value is stored separately from the event. */
      outputRef: ValueRef.optional(),
      /** The caller's signal had aborted the run's code, which a replay repeats. */
      aborted: Aborted.optional(),
    })
    .refine(
      ({ output, outputRef }) => output === undefined || outputRef === undefined,
      'the output is here or by reference',
    )
    .refine((body) => isVersionOf(body, body.outputRef), VERSION_RULE),
})
