/** @module KeyRotated: another key seals from now on (STR-3). */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { Name } from '../names.ts'

export const KeyRotated = eventType({
  family: 'ledger',
  label: 'Key rotated',
  activity: 'update',
  rating: { verdict: null, outcome: 'success', severity: 'informational' },
  facts: [],
  ofService: true,
  changes: {},
  schema: z.strictObject({ v: z.literal(1), kid: Name, previousKid: Name }),
})
