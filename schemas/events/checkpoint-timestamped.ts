/** @module CheckpointTimestamped: a time-stamping authority attests when a signed checkpoint existed (RFC 3161); in `ledger-<tenant>` (LOG-33). */
import { z } from 'zod'
import { eventType } from '../event-type.ts'
import { Digest } from '../names.ts'
import { TIMESTAMP_REPLY_MAX_BYTES } from '../value-forms.ts'

const TEXT_MAX_CHARS = 2_048
/** Maximum length in base64: four characters for every three bytes, rounded up. */
const REPLY_MAX_CHARS = 4 * Math.ceil(TIMESTAMP_REPLY_MAX_BYTES / 3)

export const CheckpointTimestamped = eventType({
  family: 'ledger',
  label: 'Checkpoint timestamped',
  activity: 'update',
  rating: { verdict: null, outcome: 'success', severity: 'informational' },
  facts: [],
  routine: true,
  changes: {},
  schema: z.strictObject({
    v: z.literal(1),
    /** Size of the checkpoint. */
    size: z.int().min(1),
    root: Digest,
    /** The signed text of the checkpoint: the bytes (UTF-8) whose SHA-256 was time-stamped. */
    text: z.string().min(1).max(TEXT_MAX_CHARS),
    /** Host of the time-stamping authority. */
    authority: z.string().regex(/^[!-~]{1,512}$/),
    /** Content of the token: its time, its policy (an OID) and its serial number (hex). */
    time: z.iso.datetime(),
    policy: z.string().min(1).max(256),
    serial: z.string().regex(/^[0-9a-f]{1,128}$/),
    /** The TimeStampResp (RFC 3161, DER) as received, base64. */
    reply: z.base64().min(1).max(REPLY_MAX_CHARS),
  }),
})
