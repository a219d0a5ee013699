/** @module CompensationSucceeded: a call was undone. */
import { z } from 'zod'
import { succeeded } from '../call-members.ts'
import { eventType } from '../event-type.ts'
import { Uuid } from '../values.ts'

export const CompensationSucceeded = eventType({
  family: 'compensation',
  label: 'Compensation succeeded',
  activity: 'update',
  says: { verdict: 'compensated', outcome: 'success', severity: 'informational' },
  facts: ['call', 'compensates'],
  notable: true,
  changes: { call: 'settled', undoing: 'succeeded' },
  schema: z.strictObject({
    ...succeeded,
    compensates: Uuid,
    /** All was undone that can be; some of what the call did stands. */
    leftStanding: z.literal(true).optional(),
  }),
})
