/** @module The leaves of a tenant's log in a store at rest, also past events that are acknowledged as lost (LOG-66). */
import { isAcknowledgement, type LostEvent, lostEventsIn, placeText } from '../../schemas/acknowledged-loss.ts'
import { ledgerStream } from '../../schemas/names.ts'
import { leafHash } from '../merkle/hashes.ts'
import { digestBytes } from '../signing/digests.ts'
import type { StoreReader } from '../store/event-store.ts'
import { isLeaf } from './checkpoint-check.ts'

export type LogReader = Pick<StoreReader, 'readAll' | 'readStream'>
type HashedLeaf = readonly [leaf: Uint8Array, header?: string]

/**
 * Hashes in log order, each with the header unless it is lost. Seals are not checked, those of acknowledgements neither: the caller compares roots with signed ones. An acknowledged event counts with
 * the digest that its acknowledgement names, whatever is left in its place.
 */
export async function* leavesIn(reader: LogReader, tenant: string): AsyncGenerator<HashedLeaf, void> {
  const lost = await lostIn(reader, tenant)
  const places = new Set([...lost.values()].map(placeText))
  const streams = new Set([...lost.values()].map(({ stream }) => stream))
  let size = 0
  const passed = function* (): Generator<HashedLeaf, void> {
    for (let next = lost.get(size); next !== undefined; next = lost.get(size)) {
      yield [digestBytes(next.digest)]
      size += 1
    }
  }
  for await (const page of reader.readAll({ tenant }))
    for (const record of page) {
      if (places.has(placeText(record)) || !isLeaf(record, tenant, streams)) continue
      yield* passed()
      yield [leafHash(record.header), record.header]
      size += 1
    }
  yield* passed()
}

/** By index of the leaf. */
async function lostIn(reader: LogReader, tenant: string): Promise<ReadonlyMap<number, LostEvent>> {
  const lost = new Map<number, LostEvent>()
  for await (const page of reader.readStream(ledgerStream(tenant)))
    for (const { header, data } of page)
      if (isAcknowledgement(header)) for (const each of lostEventsIn(data)) lost.set(each.index, each)
  return lost
}
