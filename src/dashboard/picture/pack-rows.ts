/** @module Intervals into as few rows as keep them apart: first come, first row that is free. */

export interface Packed<T> {
  readonly item: T
  readonly row: number
}

/** Items keep their order; within a row none overlaps another. */
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
