/** @module Bodies of the ledger's own facts (STR-3). */
import { z } from 'zod'
import { Digest, Name, RunId } from '../names.ts'
import { JsonRecord, Uuid } from '../values.ts'

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

/** What leaves the ledger: the same members on both facts of one export. */
const exported = {
  v: z.literal(1),
  exportId: Uuid,
  /** Name of the line format, or `bundle`. */
  format: Name,
  /** Absent: the whole tenant. */
  run: RunId.optional(),
  /** The query whose events were asked for. */
  filter: JsonRecord.optional(),
  /** Store position up to which the export looks; null where the store was empty. */
  asOf: z.string().nullable(),
  /** Leaves of the tenant's log up to there, and their root; null where no log is kept, or it has stopped. */
  treeSize: z.int().min(0).nullable(),
  root: Digest.nullable(),
}

/** On record before the first byte leaves; in `ledger-<tenant>`, written in the name of who asked. */
export const ExportStarted = z.strictObject({
  ...exported,
  /** Bytes that the reader has from an earlier, cut export of the same pin. */
  offset: z.int().min(0).optional(),
})

/**
 * On record before the last byte leaves, or when the reader left. An ExportStarted without it was cut by the end of its process.
 * Of a `cut` export, events, bytes and digest are of what was made until then.
 */
export const ExportIssued = z.strictObject({
  ...exported,
  outcome: z.enum(['complete', 'cut']),
  events: z.int().min(0),
  bytes: z.int().min(0),
  /** Over all bytes before the trailer. */
  digest: Digest,
})
