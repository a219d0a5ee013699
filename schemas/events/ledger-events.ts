/** @module Bodies of the ledger's own facts (record.md, section 3). */
import { z } from 'zod'
import { Name } from '../names.ts'
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
