/**
 * @module WaitEnded: a wait ended, by its time or by a signal that was held; a signal that arrives during the wait ends it by
 * SignalReceived alone (RUN-66).
 */
import { z } from 'zod'
import { eventType, ratedBy } from '../event-type.ts'
import { Uuid } from '../values.ts'

const schema = z.strictObject({
  v: z.literal(1),
  waitId: Uuid,
  /** `elapsed`: the time of a wait without a signal came. `timed-out`: the time came before the signal. */
  outcome: z.enum(['signalled', 'timed-out', 'elapsed']),
  /** The held signal. */
  signalId: Uuid.optional(),
})

export const WaitEnded = eventType({
  family: 'run',
  label: 'Wait ended',
  activity: 'update',
  rating: ratedBy(schema, 'outcome', {
    signalled: { verdict: null, outcome: 'success', severity: 'informational' },
    elapsed: { verdict: null, outcome: 'success', severity: 'informational' },
    'timed-out': { verdict: null, outcome: 'failure', severity: 'low' },
  }),
  facts: [],
  notable: true,
  changes: {},
  schema,
})
