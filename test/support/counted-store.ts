/** @module A store that counts what a ledger asks of it: how many durable writes and how many reads, and how many bytes. */
import type { EventStore } from '../../src/store/event-store.ts'
import { wrapStore } from './wrap-store.ts'

export interface StoreCounts {
  /** Of each append, the types of its events. */
  appends: string[]
  bytes: number
  reads: number
}

export function countedStore(store: EventStore): { readonly store: EventStore; readonly take: () => StoreCounts } {
  const noCounts = (): StoreCounts => ({ appends: [], bytes: 0, reads: 0 })
  let counts = noCounts()
  const counted = wrapStore(store, {
    append: (append: Parameters<EventStore['append']>[0]) => {
      counts.appends.push(append.records.map(({ header }) => String(JSON.parse(header).type)).join(' + '))
      for (const { header, data } of append.records) counts.bytes += header.length + data.length
      return store.append(append)
    },
    readStream: (...args: Parameters<EventStore['readStream']>) => {
      counts.reads += 1
      return store.readStream(...args)
    },
  })
  return {
    store: counted,
    /** Since it was asked last. */
    take: () => {
      const current = counts
      counts = noCounts()
      return current
    },
  }
}
