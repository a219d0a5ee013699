/**
 * @module ServiceStopped: a process that served the ledger stopped in an orderly way; in `ledger-system`. If it is missing after a start,
 * the process ended otherwise or its store was unavailable (LOG-30).
 */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { Uuid } from '../values.ts'

export const ServiceStopped = eventType({
  family: 'ledger',
  label: 'Service stopped',
  activity: 'update',
  rating: { verdict: null, outcome: 'success', severity: 'informational' },
  facts: [],
  ofService: true,
  changes: {},
  schema: z.strictObject({ v: z.literal(1), start: Uuid }),
})
