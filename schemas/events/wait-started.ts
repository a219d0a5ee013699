/** @module WaitStarted: the run waits at this place for a signal, for a time, or for whichever comes first; nothing holds a lease meanwhile (RUN-66). */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { Digest, Name } from '../names.ts'
import { JsonRecord, Scope, Uuid } from '../values.ts'

export const WaitStarted = eventType({
  family: 'run',
  label: 'Wait started',
  activity: 'create',
  rating: { verdict: null, outcome: 'success', severity: 'informational' },
  facts: [],
  notable: true,
  announced: { as: 'wait.started', members: ['waitId', 'name', 'until'] },
  changes: {},
  schema: z.strictObject({
    v: z.literal(1),
    waitId: Uuid,
    /** Of the place: signal, scope and occurrence. */
    key: Digest,
    /** Of the signal; absent where only time ends the wait. */
    name: Name.optional(),
    /** When it is over in any case: RFC 3339. */
    until: z.string().optional(),
    /** What the payload has to fit. */
    schema: JsonRecord.optional(),
    scope: Scope.optional(),
    occurrence: z.int().min(0).optional(),
    /** The call in whose tool it is requested. */
    parentCall: Uuid.optional(),
  }),
})
