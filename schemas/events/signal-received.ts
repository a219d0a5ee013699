/** @module SignalReceived: a signal from outside the run. It ends the wait that it names; without one it is held for a later wait (RUN-67). */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { Digest, Name } from '../names.ts'
import { Redacted } from '../redaction.ts'
import { JsonValue, Uuid } from '../values.ts'

export const SignalReceived = eventType({
  family: 'run',
  label: 'Signal received',
  activity: 'create',
  rating: { verdict: null, outcome: 'success', severity: 'informational' },
  facts: [],
  notable: true,
  changes: {},
  schema: z.strictObject({
    v: z.literal(1),
    redacted: Redacted.optional(),
    signalId: Uuid,
    name: Name,
    payload: JsonValue,
    payloadDigest: Digest,
    /** The wait that the signal ends. */
    waitId: Uuid.optional(),
  }),
})
