/** @module Pages up to a pinned position: a run may have grown since. */
import type { EventStore, Position } from '../store/event-store.ts'

/** Ends at the first page that contains a later position. */
export async function* upTo<T extends { readonly position: Position }>(
  { comparePositions }: Pick<EventStore, 'comparePositions'>,
  pages: AsyncIterable<readonly T[]>,
  until: Position,
): AsyncGenerator<readonly T[], void> {
  for await (const page of pages) {
    const known = page.filter(({ position }) => comparePositions(position, until) <= 0)
    if (known.length > 0) yield known
    if (known.length < page.length) return
  }
}
