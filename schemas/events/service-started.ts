/** @module ServiceStarted: a process serves the ledger from here on, with these settings; in `ledger-system` (LOG-30). */
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
    /** Of this start: `ServiceStopped` names it. */
    start: Uuid,
    /** Of the program, and of Node. */
    version: z.string().min(1).max(64),
    node: z.string().min(1).max(64),
    /** By the names of the flags; of a file its digest, of an address its host. No secret. */
    settings: z.record(Setting, z.string().max(TEXT_MAX_CHARS)),
    /** Settings that are others than at the start before this one; absent at the first. */
    changed: z.array(Setting).max(256).optional(),
  }),
})
