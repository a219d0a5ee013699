/** @module Whether part of a body was left out. Needs no schema library: the client package asks it, too. */
import type { Redacted } from './redaction.ts'

/** Whatever is in the place of a value that was left out begins so. */
export const MARKER_BEGINS = '[redacted: '

/** Whether something of a member was left out of a body. Where more was left out than is listed, any member may lack something. */
export function lacks(redacted: Redacted | undefined, member: string): boolean {
  if (redacted === undefined) return false
  const { counts, values } = redacted
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0)
  return total > values.length || values.some(({ at }) => at === `/${member}` || at.startsWith(`/${member}/`))
}
