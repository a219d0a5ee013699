/** @module RunKeyDisclosed: the run's own keys were given away: from here on a mac of this run proves nothing, and nothing may follow. */
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
