/** @module ManifestRegistered: what an agent may read, write and spend, and how its handoffs are judged. */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { Digest, Name } from '../names.ts'
import { ManifestBody } from '../values.ts'

export const ManifestRegistered = eventType({
  family: 'run',
  label: 'Manifest registered',
  activity: 'create',
  rating: { verdict: null, outcome: 'success', severity: 'informational' },
  facts: ['agent'],
  changes: {},
  schema: z.strictObject({
    v: z.literal(1),
    agent: Name,
    manifest: ManifestBody,
    /** Digest of the manifest's JCS bytes. */
    hash: Digest,
  }),
})
