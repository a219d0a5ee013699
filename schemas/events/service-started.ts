/** @module ServiceStarted: a process serves the ledger from now on, with these settings; in `ledger-system` (LOG-30). */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { Uuid } from '../values.ts'

const TEXT_MAX_CHARS = 1_024
const Setting = z.string().min(1).max(64)

export const ServiceStarted = eventType({
  family: 'ledger',
  label: 'Service started',
  activity: 'update',
  rating: { verdict: null, outcome: 'success', severity: 'informational' },
  facts: [],
  ofService: true,
  changes: {},
  schema: z.strictObject({
    v: z.literal(1),
    /** Id of this start, which `ServiceStopped` repeats. */
    start: Uuid,
    /** Versions of the program and of Node. */
    version: z.string().min(1).max(64),
    node: z.string().min(1).max(64),
    /** Settings by the names of their flags; for a file its digest, for an address its host. Contains no secrets. */
    settings: z.record(Setting, z.string().max(TEXT_MAX_CHARS)),
    /** Settings that differ from those of the previous start; absent at the first. */
    changed: z.array(Setting).max(256).optional(),
  }),
})
