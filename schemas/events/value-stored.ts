/** @module ValueStored: a part of a large value, in `value-<tenant>.<digest>`, durable before the event that names the value (REC-19). */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { Digest, RunId } from '../names.ts'

export const ValueStored = eventType({
  family: 'ledger',
  label: 'Value stored',
  activity: 'create',
  rating: { verdict: null, outcome: 'success', severity: 'informational' },
  facts: [],
  routine: true,
  changes: {},
  schema: z
    .strictObject({
      v: z.literal(1),
      /** The run that the value belongs to. */
      run: RunId,
      /** SHA-256 over the salt and the whole text. */
      digest: Digest,
      /** Size of the whole text in UTF-8. */
      bytes: z.int().min(0),
      mediaType: z.string().min(1).max(128),
      /** 16 bytes, base64url. */
      salt: z.string().regex(/^[A-Za-z0-9_-]{21}[AQgw]$/),
      /** Number of the part, from 0; equals the event's revision. */
      part: z.int().min(0),
      parts: z.int().min(1),
      text: z.string(),
    })
    .refine(({ part, parts }) => part < parts, 'a part is one of all parts'),
})
