/** @module RunKeyDisclosed: the run's keys were disclosed. From now on MACs of this run prove nothing, and no event may follow. */
import { z } from 'zod'
import { eventType } from '../event-type.ts'

export const RunKeyDisclosed = eventType({
  family: 'run',
  label: 'Run key disclosed',
  activity: 'update',
  rating: { verdict: null, outcome: 'success', severity: 'informational' },
  facts: [],
  notable: true,
  changes: {},
  schema: z.strictObject({ v: z.literal(1) }),
})
