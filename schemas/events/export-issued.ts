/**
 * @module ExportIssued: the end of an export, recorded before the last byte is sent or when the reader disconnects. An ExportStarted
 * without this event was cut off by the end of its process. If `cut`, events, bytes and digest cover the part produced so far.
 */
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
