/**
 * @module CaptureGap: an entrance let calls through while the ledger could not record them; their effects are known only as far as they
 * were recorded later.
 */
import { z } from 'zod'
import { Entrance, GapMembers } from '../capture.ts'
import { eventType } from '../event-type.ts'

export const CaptureGap = eventType({
  family: 'call',
  label: 'Capture gap',
  activity: 'create',
  rating: { verdict: null, outcome: 'failure', severity: 'high' },
  facts: [],
  changes: {},
  schema: z.strictObject({ v: z.literal(1), ...Entrance, from: z.string(), to: z.string(), count: GapMembers.count }),
})
