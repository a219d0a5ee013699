/** @module RequestRefused: a request that passed the checks of token, scope and schema but was refused. Contains digests, never the body. */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { Digest, Name } from '../names.ts'
import { REFUSED_LIST_MAX } from '../refused-request.ts'
import { Uuid } from '../values.ts'

export const RequestRefused = eventType({
  family: 'run',
  label: 'Request refused',
  activity: 'update',
  rating: { verdict: 'refused', outcome: 'failure', severity: 'medium' },
  facts: [],
  rules: 'code',
  changes: {},
  schema: z.strictObject({
    v: z.literal(1),
    code: Name,
    pointer: z.string().optional(),
    fingerprint: Digest,
    detail: z.string().max(1024),
    /** Ids, digests and numbers, expected and actual, and short lists of them. */
    evidence: z
      .record(
        z.string(),
        z.union([z.string(), z.number(), z.null(), z.array(z.union([z.string(), z.number()])).max(REFUSED_LIST_MAX)]),
      )
      .optional(),
    /** A settle under an outdated fence: the call may have been executed twice. */
    lateOutcome: z
      .strictObject({
        callId: Uuid,
        fence: z.int(),
        status: z.enum(['succeeded', 'failed', 'unknown']),
        digest: Digest.optional(),
      })
      .optional(),
  }),
})
