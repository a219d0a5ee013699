/** @module Bodies of the ledger's own facts (record.md, section 3). */
import { z } from 'zod'
import { Digest, Name } from '../names.ts'
import { Uuid } from '../values.ts'

/** Revision 0 of `ledger-system`: who this ledger is. */
export const LedgerCreated = z.strictObject({
  v: z.literal(1),
  ledgerId: Uuid,
  /** Schemaless URL, no space or plus: the prefix of every log's origin, for life. */
  origin: z.string().regex(/^[a-z0-9][a-z0-9./-]{0,200}$/),
  kid: Name,
  /** C2SP signed-note verifier key of the checkpoints. */
  verifierKey: z.string().max(512),
})

export const KeyRotated = z.strictObject({ v: z.literal(1), kid: Name, previousKid: Name })

/** Longest signed note of a checkpoint: three lines and one signature. */
const NOTE_MAX_CHARS = 2_048

/** The tenant's log up to `size` leaves, signed; in `ledger-<tenant>`. Alone it makes no new checkpoint due. */
export const CheckpointSigned = z.strictObject({
  v: z.literal(1),
  /** `<origin>/<tenant>`: the name of the log and of the key. */
  origin: z.string().min(1).max(512),
  size: z.int().min(1),
  root: Digest,
  /** C2SP tlog-checkpoint: the signed note, verbatim. */
  note: z.string().min(1).max(NOTE_MAX_CHARS),
})
