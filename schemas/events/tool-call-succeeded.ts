/** @module ToolCallSucceeded: a call ran and returned a result. */
import { z } from 'zod'
import { isVersionOf, succeeded, VERSION_RULE } from '../call-members.ts'
import { eventType } from '../event-type.ts'

export const ToolCallSucceeded = eventType({
  family: 'call',
  label: 'Tool call succeeded',
  activity: 'update',
  rating: { verdict: 'succeeded', outcome: 'success', severity: 'informational' },
  facts: ['call'],
  large: 'result',
  changes: { call: 'settled' },
  schema: z
    .strictObject(succeeded)
    .refine((body) => isVersionOf(body, body.resultRef, body.unrecorded?.answered), VERSION_RULE),
})
