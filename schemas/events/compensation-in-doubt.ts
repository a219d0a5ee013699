/** @module CompensationInDoubt: it is unknown whether a call was undone. */
import { z } from 'zod'
import { inDoubt } from '../call-members.ts'
import { eventType } from '../event-type.ts'
import { Uuid } from '../values.ts'

export const CompensationInDoubt = eventType({
  family: 'compensation',
  label: 'Compensation in doubt',
  activity: 'update',
  rating: { verdict: 'in-doubt', outcome: 'failure', severity: 'high' },
  facts: ['call', 'compensates'],
  changes: { call: 'in-doubt', undoing: 'in-doubt' },
  schema: z.strictObject({ ...inDoubt, compensates: Uuid }),
})
