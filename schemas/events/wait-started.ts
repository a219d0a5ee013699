/** @module WaitStarted: the run waits at this place for a signal, for a time, or for whichever comes first; no lease is held meanwhile (RUN-66). */
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
    /** Digest of the place: signal, scope and occurrence. */
    key: Digest,
    /** Name of the signal; absent if only time ends the wait. */
    name: Name.optional(),
    /** Time at which the wait ends at the latest; RFC 3339. */
    until: z.string().optional(),
    /** JSON Schema for the signal's payload. */
    schema: JsonRecord.optional(),
    scope: Scope.optional(),
    occurrence: z.int().min(0).optional(),
    /** The call in whose tool the wait is requested. */
    parentCall: Uuid.optional(),
  }),
})
