/** @module HoldPlaced: a legal hold; what it covers is not erased until it is released (LIFE-20). Names keys, never the subject. */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { HOLD_SCOPES, HoldReason } from '../hold.ts'
import { RunId } from '../names.ts'
import { Uuid } from '../values.ts'

export const HoldPlaced = eventType({
  family: 'ledger',
  label: 'Hold placed',
  activity: 'create',
  rating: { verdict: null, outcome: 'success', severity: 'low' },
  facts: [],
  notable: true,
  changes: {},
  schema: z.strictObject({
    v: z.literal(1),
    hold: Uuid,
    scope: z.enum(HOLD_SCOPES),
    /** The held run, if `scope` is `run`. */
    run: RunId.optional(),
    /** The keys that the held subject had at that time, if `scope` is `subject`. */
    keyIds: z.array(Uuid).min(1).optional(),
    reason: HoldReason,
  }),
})
