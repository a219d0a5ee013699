/** @module Packs intervals into few rows without overlaps: each goes into the first free row. */

export interface Packed<T> {
  readonly item: T
  readonly row: number
}

/** Items ordered by their start, each with its row; items of one row do not overlap. */
export function packRows<T>(
  items: readonly T[],
  extentOf: (item: T) => { readonly from: number; readonly to: number },
): readonly Packed<T>[] {
  const ends: number[] = []
  const sorted = items.map((item) => ({ item, ...extentOf(item) })).sort((a, b) => a.from - b.from)
  return sorted.map(({ item, from, to }) => {
    const free = ends.findIndex((end) => end <= from)
    const row = free < 0 ? ends.length : free
    ends[row] = to
    return { item, row }
  })
}
