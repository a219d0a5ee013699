/**
 * @module Accumulates, page by page, what is known of the attestations (notes) of a store's writers: from where on they attest, and whether that
 * still holds.
 */
import type { Attested, Position } from '../../store/event-store.ts'
import type { KnownNotes } from '../../store/log-store.ts'

/** The knowledge after this range of the store. A fault persists until the file is rebuilt. Undefined if no note was seen. */
export function knownNotes(
  known: KnownNotes | undefined,
  { broken, after }: Attested,
  compare: (a: Position, b: Position) => number,
): KnownNotes | undefined {
  const said = [known?.after, after?.noted].filter((each) => each !== undefined)
  const earliest = said.length === 0 ? undefined : said.reduce((a, b) => (compare(a, b) <= 0 ? a : b))
  const isLater = earliest !== undefined && after !== undefined && compare(after.now, earliest) > 0
  const later = isLater
    ? `the store says that events are attested from behind ${after.now} on, and they were from behind ${earliest}`
    : undefined
  const found = known?.broken ?? broken ?? later
  if (earliest === undefined && found === undefined) return undefined
  return { ...(earliest !== undefined && { after: earliest }), ...(found !== undefined && { broken: found }) }
}
