/** @module HoldReleased: a legal hold ends; what it covered may be erased again (LIFE-22). */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { HoldReason } from '../hold.ts'
import { Uuid } from '../values.ts'

export const HoldReleased = eventType({
  family: 'ledger',
  label: 'Hold released',
  activity: 'update',
  rating: { verdict: null, outcome: 'success', severity: 'low' },
  facts: [],
  notable: true,
  changes: {},
  schema: z.strictObject({
    v: z.literal(1),
    /** Id of the hold, from `HoldPlaced`. */
    hold: Uuid,
    reason: HoldReason,
  }),
})
