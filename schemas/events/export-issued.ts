/** @module ExportIssued: * On record before the last byte leaves, or when the reader left. An ExportStarted without it was cut by the end of its process. Of a `cut` export, events, bytes and digest are of what was made until then. */
import { z } from 'zod'
import { eventType, ratedBy } from '../event-type.ts'
import { exported } from '../export-members.ts'
import { Digest } from '../names.ts'

const schema = z.strictObject({
  ...exported,
  outcome: z.enum(['complete', 'cut']),
  events: z.int().min(0),
  bytes: z.int().min(0),
  /** Over all bytes before the trailer. */
  digest: Digest,
})

export const ExportIssued = eventType({
  family: 'access',
  label: 'Export issued',
  activity: 'read',
  rating: ratedBy(schema, 'outcome', {
    complete: { verdict: null, outcome: 'success', severity: 'informational' },
    cut: { verdict: null, outcome: 'failure', severity: 'low' },
  }),
  facts: [],
  changes: {},
  schema,
})
