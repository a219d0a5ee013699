/** @module ToolCallFailed: a call ran and failed. */
import { z } from 'zod'
import { failed } from '../call-members.ts'
import { eventType } from '../event-type.ts'

export const ToolCallFailed = eventType({
  family: 'call',
  label: 'Tool call failed',
  activity: 'update',
  rating: { verdict: 'failed', outcome: 'failure', severity: 'medium' },
  facts: ['call'],
  changes: { call: 'settled' },
  schema: z.strictObject(failed),
})
