/** @module CompensationStarted: a rollback begins; records the intent before the first action. */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { Redacted } from '../redaction.ts'
import { Aborted, Failure, Scope, Uuid } from '../values.ts'

export const CompensationStarted = eventType({
  family: 'compensation',
  label: 'Compensation started',
  activity: 'create',
  rating: { verdict: null, outcome: 'success', severity: 'informational' },
  facts: [],
  notable: true,
  changes: {},
  schema: z.strictObject({
    v: z.literal(1),
    redacted: Redacted.optional(),
    compensationId: Uuid,
    reason: z.string().max(4096),
    /** For a child run: the error that its code ended with, for the caller in the parent run. */
    error: Failure.optional(),
    /** The caller's signal had aborted the run's code, which a replay repeats. */
    aborted: Aborted.optional(),
    /** Absent: the whole run. */
    scope: Scope.optional(),
    /** Forward calls to undo, first group first; calls still in flight are added later. */
    plan: z.array(z.array(Uuid)),
  }),
})
