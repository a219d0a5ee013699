/** @module CompensationFailed: undoing a call failed, so its effect remains. */
import { z } from 'zod'
import { failed } from '../call-members.ts'
import { eventType } from '../event-type.ts'
import { Uuid } from '../values.ts'

export const CompensationFailed = eventType({
  family: 'compensation',
  label: 'Compensation failed',
  activity: 'update',
  rating: { verdict: 'compensation-failed', outcome: 'failure', severity: 'high' },
  facts: ['call', 'compensates'],
  changes: { call: 'settled', undoing: 'failed' },
  schema: z.strictObject({ ...failed, compensates: Uuid, willRetry: z.boolean().optional() }),
})
