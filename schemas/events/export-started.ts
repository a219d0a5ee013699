/** @module ExportStarted: on record before the first byte leaves; in `ledger-<tenant>`, written in the name of who asked. */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { exported } from '../export-members.ts'

export const ExportStarted = eventType({
  family: 'access',
  label: 'Export started',
  activity: 'read',
  rating: { verdict: null, outcome: 'success', severity: 'informational' },
  facts: [],
  routine: true,
  changes: {},
  schema: z.strictObject({
    ...exported,
    /** Bytes that the reader has from an earlier, cut export of the same pin. */
    offset: z.int().min(0).optional(),
  }),
})
