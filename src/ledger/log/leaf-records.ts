/** @module Reads the records of the leaves of a log from the store. */
import type { EventStore, ReadRecord } from '../../store/event-store.ts'
import type { LogStore } from '../../store/log-store.ts'
import { LogGapError } from './tenant-logs.ts'

export interface LeafSource {
  readonly store: Pick<EventStore, 'readAll'>
  readonly leaves: Pick<LogStore, 'leaf' | 'leafPlaces'>
}

/**
 * Records of the first `size` leaves. The store is read once in its order, which is the order of the leaves; records between them are skipped. Throws
 * `LogGapError`.
 */
export async function* leafRecords(
  { store, leaves }: LeafSource,
  tenant: string,
  size: number,
): AsyncGenerator<readonly ReadRecord[], void> {
  const until = leaves.leaf(tenant, size - 1)?.position
  if (size === 0 || until === undefined) return
  let index = 0
  for await (const page of store.readAll({ tenant, until })) {
    const places = leaves.leafPlaces(tenant, index, Math.min(size, index + page.length))
    const found = page.filter((record) => {
      const [, stream, revision] = places[index - (places[0]?.[0] ?? 0)] ?? []
      const isNext = stream === record.stream && revision === record.revision
      if (isNext) index += 1
      return isNext
    })
    if (found.length > 0) yield found
  }
  if (index < size) throw new LogGapError(tenant, index)
}
