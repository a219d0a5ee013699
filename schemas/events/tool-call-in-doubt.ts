/** @module ToolCallInDoubt: it is unknown whether a call ran. */
import { z } from 'zod'
import { inDoubt } from '../call-members.ts'
import { eventType } from '../event-type.ts'

export const ToolCallInDoubt = eventType({
  family: 'call',
  label: 'Tool call in doubt',
  activity: 'update',
  rating: { verdict: 'in-doubt', outcome: 'failure', severity: 'high' },
  facts: ['call'],
  changes: { call: 'in-doubt' },
  schema: z.strictObject(inDoubt),
})
