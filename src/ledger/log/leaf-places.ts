/** @module Where the leaves of a log lie in the store: in the order of their positions, so that halving finds each border. */
import type { Position } from '../../store/event-store.ts'
import type { LogStore } from '../../store/log-store.ts'

export interface LeafPlaces {
  readonly leaves: Pick<LogStore, 'leaf'>
  readonly comparePositions: (a: Position, b: Position) => number
}

/** How many of a log's first `size` leaves lie at or before a position. */
export function leavesUpTo(
  { leaves, comparePositions }: LeafPlaces,
  { tenant, size }: { readonly tenant: string; readonly size: number },
  position: Position,
): number {
  let known = 0
  let beyond = size
  while (known < beyond) {
    const middle = Math.floor((known + beyond) / 2)
    const leaf = leaves.leaf(tenant, middle)
    if (leaf !== undefined && comparePositions(leaf.position, position) <= 0) known = middle + 1
    else beyond = middle
  }
  return known
}
