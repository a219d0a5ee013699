/** @module RunFailed: a run ends with an error. */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { Redacted } from '../redaction.ts'
import { Failure, Uuid } from '../values.ts'

export const RunFailed = eventType({
  family: 'run',
  label: 'Run failed',
  activity: 'update',
  rating: { verdict: 'run-failed', outcome: 'failure', severity: 'medium' },
  facts: [],
  changes: { run: 'failed' },
  schema: z.strictObject({ v: z.literal(1), redacted: Redacted.optional(), error: Failure, openCalls: z.array(Uuid) }),
})
