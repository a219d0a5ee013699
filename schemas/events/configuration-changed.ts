/**
 * @module ConfigurationChanged: a settings file was edited while a process serves the ledger, and applies from now on. In `ledger-system`
 * (LOG-30).
 */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { Digest } from '../names.ts'
import { Uuid } from '../values.ts'

export const ConfigurationChanged = eventType({
  family: 'ledger',
  label: 'Configuration changed',
  activity: 'update',
  rating: { verdict: null, outcome: 'success', severity: 'low' },
  facts: [],
  ofService: true,
  changes: {},
  schema: z.strictObject({
    v: z.literal(1),
    start: Uuid,
    /** The setting that names the file. */
    setting: z.enum(['policy', 'trusted-issuers']),
    /** SHA-256 of the file's bytes. */
    digest: Digest,
  }),
})
