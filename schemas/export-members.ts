/** @module Members that both facts of one export have in common. */
import { z } from 'zod'
import { Digest, Name, RunId } from './names.ts'
import { JsonRecord, Uuid } from './values.ts'

/** What leaves the ledger: the same members on both facts of one export. */
export const exported = {
  v: z.literal(1),
  exportId: Uuid,
  /** Name of the line format, or `bundle`. */
  format: Name,
  /** Absent: the whole tenant. */
  run: RunId.optional(),
  /** The query whose events were requested. */
  filter: JsonRecord.optional(),
  /** Id of the tenant's last event that the export takes into account; null where its log is empty, stopped or not kept. A store position in the first release. */
  asOf: z.string().nullable(),
  /** Leaves of the tenant's log up to there, and their root; null where no log is kept, or it has stopped. */
  treeSize: z.int().min(0).nullable(),
  root: Digest.nullable(),
}
