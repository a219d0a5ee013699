/** @module RunCompensated: a rollback of the whole run ends. */
import { z } from 'zod'
import { eventType, ratedBy } from '../event-type.ts'
import { ROLLBACK_VERDICTS } from '../run-status.ts'
import { Uuid } from '../values.ts'

const schema = z.strictObject({
  v: z.literal(1),
  compensationId: Uuid,
  status: z.enum(ROLLBACK_VERDICTS),
  compensated: z.array(Uuid),
  standing: z.array(Uuid),
  failed: z.array(Uuid),
  unknown: z.array(Uuid),
})

export const RunCompensated = eventType({
  family: 'compensation',
  label: 'Run compensated',
  activity: 'update',
  rating: ratedBy(schema, 'status', {
    COMPENSATED: { verdict: 'run-compensated', outcome: 'success', severity: 'informational' },
    PARTLY_COMPENSATED: { verdict: 'run-compensated', outcome: 'failure', severity: 'medium' },
    COMPENSATION_FAILED: { verdict: 'run-compensated', outcome: 'failure', severity: 'high' },
    IN_DOUBT: { verdict: 'run-compensated', outcome: 'failure', severity: 'high' },
  }),
  facts: [],
  notable: true,
  changes: { run: 'compensated' },
  schema,
})
