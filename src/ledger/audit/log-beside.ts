/**
 * @module Holds the auditors' index against the log of a tenant. The index takes records as they are; the log checks each of them, and knows events
 * that the store holds no more (LOG-79).
 */
import { type EventStore, readOne } from '../../store/event-store.ts'
import type { Sealer } from '../identity/sealer.ts'
import { LOST_EVENT_ID } from '../log/acknowledgements.ts'
import { isStoredLeaf, missingFault } from '../log/log-stops.ts'
import type { TenantLogs } from '../log/tenant-logs.ts'

export interface LogBesideDeps {
  readonly store: Pick<EventStore, 'end' | 'comparePositions' | 'readStream'>
  readonly logs: Pick<TenantLogs, 'catchUp' | 'state' | 'leaves'>
  /** A loss is reported to it. */
  readonly sealer: Pick<Sealer, 'faultFound'>
}

export interface LogBeside {
  /** Has the log follow the store to its end, so that it has met what does not verify or is missing; resolves with the size of the tenant's log. */
  follow(tenant: string): Promise<number>
  /** `idAt`: the event of a leaf by the index, which has followed the store as far as a log of `size` leaves. */
  compare(tenant: string, size: number, idAt: (leaf: number) => string | undefined): Promise<void>
}

export function logBeside({ store, logs, sealer }: LogBesideDeps): LogBeside {
  const { leaves } = logs
  return {
    follow: async (tenant) => {
      const [end, reached] = [await store.end(), leaves.progress()?.position]
      const exists = reached !== undefined && end !== undefined && store.comparePositions(reached, end) >= 0
      if (!exists) await logs.catchUp()
      return logs.state(tenant).size
    },
    // Both number the events alike: where the last ones are the same, so are all before.
    compare: async (tenant, size, idAt) => {
      const isSame = (leaf: number): boolean => leaves.leaf(tenant, leaf)?.eventId === idAt(leaf)
      if (size === 0 || isSame(size - 1)) return
      let [low, high] = [0, size - 1]
      while (low < high) {
        const middle = Math.floor((low + high) / 2)
        if (isSame(middle)) low = middle + 1
        else high = middle
      }
      const leaf = leaves.leaf(tenant, low)
      const record = leaf && (await readOne(store, leaf))
      // The place of an acknowledged loss has another id in the log, and a file may have been renewed meanwhile.
      const isLost = leaf !== undefined && leaf.eventId !== LOST_EVENT_ID
      if (isLost && (record === undefined || !isStoredLeaf(leaves, leaf, record))) sealer.faultFound(missingFault(leaf))
    },
  }
}
