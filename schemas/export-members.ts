/** @module Members shared by the two events of an export. */
import { z } from 'zod'
import { Digest, Name, RunId } from './names.ts'
import { JsonRecord, Uuid } from './values.ts'

/** Members of both the start and the issue event of one export. */
export const exported = {
  v: z.literal(1),
  exportId: Uuid,
  /** Name of the line format, or `bundle`. */
  format: Name,
  /** Absent: the whole tenant. */
  run: RunId.optional(),
  /** The query that selected the events. */
  filter: JsonRecord.optional(),
  /** Id of the tenant's last event that the export takes into account; null if its log is empty, stopped or not kept. A store position in the first release. */
  asOf: z.string().nullable(),
  /** Number of leaves of the tenant's log up to that event, and their root; null if no log is kept or the log has stopped. */
  treeSize: z.int().min(0).nullable(),
  root: Digest.nullable(),
}
