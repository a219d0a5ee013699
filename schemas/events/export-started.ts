/** @module ExportStarted: the start of an export, recorded before the first byte is sent; in `ledger-<tenant>`, written in the name of the caller. */
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
    /** Bytes that the reader already has from an earlier, cut export of the same pinned state. */
    offset: z.int().min(0).optional(),
  }),
})
