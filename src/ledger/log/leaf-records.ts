/** @module Reads the records of the leaves of a log from the store. */
import type { EventStore, ReadRecord } from '../../store/event-store.ts'
import type { LogStore } from '../../store/log-store.ts'
import { LogGapError, type LogStart } from './tenant-logs.ts'

export interface LeafSource {
  readonly store: Pick<EventStore, 'readAll'>
  readonly leaves: Pick<LogStore, 'leaf' | 'leafPlaces'>
}

/**
 * Records of the first `size` leaves, except for lost ones. The store is read once in its order, which is the order of the leaves; records between them are skipped. Throws
 * `LogGapError`.
 */
export async function* leafRecords(
  { store, leaves }: LeafSource,
  { tenant, size, lost = [] }: LogStart,
): AsyncGenerator<readonly ReadRecord[], void> {
  const until = leaves.leaf(tenant, size - 1)?.position
  if (size === 0 || until === undefined) return
  const holes = new Set(lost.map((each) => each.index))
  let index = 0
  const passLost = (): void => {
    while (holes.has(index)) index += 1
  }
  passLost()
  for await (const page of store.readAll({ tenant, until })) {
    // As many further leaves as there are records, and the lost ones between them.
    let to = Math.min(size, index + page.length)
    for (let at = index; at < to && to < size; at += 1) if (holes.has(at)) to += 1
    const places = leaves.leafPlaces(tenant, index, to)
    const found = page.filter((record) => {
      const [, stream, revision] = places[index - (places[0]?.[0] ?? 0)] ?? []
      const isNext = stream === record.stream && revision === record.revision
      if (isNext) index += 1
      passLost()
      return isNext
    })
    if (found.length > 0) yield found
  }
  if (index < size) throw new LogGapError(tenant, index)
}
