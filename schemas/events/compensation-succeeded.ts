/** @module CompensationSucceeded: a call was undone. */
import { z } from 'zod'
import { isVersionOf, succeeded, VERSION_RULE } from '../call-members.ts'
import { eventType } from '../event-type.ts'
import { Uuid } from '../values.ts'

export const CompensationSucceeded = eventType({
  family: 'compensation',
  label: 'Compensation succeeded',
  activity: 'update',
  rating: { verdict: 'compensated', outcome: 'success', severity: 'informational' },
  facts: ['call', 'compensates'],
  notable: true,
  large: 'result',
  changes: { call: 'settled', undoing: 'succeeded' },
  schema: z
    .strictObject({
      ...succeeded,
      compensates: Uuid,
      /** Everything that can be undone was undone, but some effects of the call remain. */
      leftStanding: z.literal(true).optional(),
    })
    .refine((body) => isVersionOf(body, body.resultRef, body.unrecorded?.answered), VERSION_RULE),
})
