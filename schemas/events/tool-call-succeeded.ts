/** @module ToolCallSucceeded: a call ran and gave a result. */
import { z } from 'zod'
import { succeeded } from '../call-members.ts'
import { eventType } from '../event-type.ts'

export const ToolCallSucceeded = eventType({
  family: 'call',
  label: 'Tool call succeeded',
  activity: 'update',
  says: { verdict: 'succeeded', outcome: 'success', severity: 'informational' },
  facts: ['call'],
  changes: { call: 'settled' },
  schema: z.strictObject(succeeded),
})
