/** @module How a file that is read as an export says that it is an archive. */
import type { JsonObject } from '../../schemas/json.ts'

/** Whether a file with this filter is an archive, which holds whole runs from their first events on. No query has such a member. */
export function isOfArchive(filter: JsonObject | undefined): boolean {
  return typeof filter?.archive === 'string'
}
