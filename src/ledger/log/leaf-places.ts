/** @module Finds leaves of a log by their position in the store: leaves are ordered by position, so that a binary search finds each boundary. */
import type { Position, ReadRecord } from '../../store/event-store.ts'
import type { LogStore } from '../../store/log-store.ts'

export interface LeafPlaces {
  readonly leaves: Pick<LogStore, 'leaf'>
  readonly comparePositions: (a: Position, b: Position) => number
}

/** Number of the first `size` leaves of a log that lie at or before a position. */
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

export function placeOf({ position, stream, revision }: ReadRecord): {
  position: string
  stream: string
  revision: number
} {
  return { position, stream, revision }
}
