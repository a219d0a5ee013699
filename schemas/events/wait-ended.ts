/** @module WaitEnded: a wait is over, by its time or by a signal that was held; one that comes to a wait ends it by itself, with SignalReceived (RUN-66). */
import { z } from 'zod'
import { eventType, ratedBy } from '../event-type.ts'
import { Uuid } from '../values.ts'

const schema = z.strictObject({
  v: z.literal(1),
  waitId: Uuid,
  /** `elapsed`: its time came, and that was all it waited for. `timed-out`: its time came before the signal. */
  outcome: z.enum(['signalled', 'timed-out', 'elapsed']),
  /** The signal that was held. */
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
