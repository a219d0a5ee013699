/** @module Limits the open streams of a tenant and their memory, so that a client that never reads does not keep others from reading. */
import type { MemoryAccount } from '../resources/memory-budget.ts'

const MIB = 1024 * 1024

/** Memory that one read holds at a time, in bytes: pages of the store, text and buffers; for streams, while their client does not read. */
export const STREAM_BYTES = {
  page: 1 * MIB,
  /** A page of whole events: 2 MiB of texts, the event that exceeds them, and the answer that is made of them. */
  events: 5 * MIB,
  tail: 1.5 * MIB,
  replay: 2 * MIB,
  export: 3 * MIB,
  /** Planning a bundle also keeps calls and runs in memory, a few megabytes; the answer in a bundle reports its additional memory itself. */
  bundle: 8 * MIB,
} as const

export type StreamKind = keyof typeof STREAM_BYTES

/** The rest is for reads that end by themselves, so that those who wait cannot keep away those that they wait for. */
const WAITING_SHARE = 3 / 4

/** Releases the slot; a second call has no effect. */
type Release = () => void

export interface StreamSlots {
  /**
   * Takes a slot, or returns the reason why there is none: the tenant has too many, or too many tails, or all streams together use up their memory. `heldBytes`
   * is the memory that this stream holds in addition to others of its kind.
   */
  acquire(tenant: string, kind: StreamKind, heldBytes?: number): Release | 'too-many-streams' | 'overloaded'
  /** Slots in use, of all tenants. */
  readonly open: number
}

export function createStreamSlots(perTenant: number, memory: MemoryAccount): StreamSlots {
  const used = new Map<string, number>()
  const waiting = new Map<string, number>()
  const waitingMost = Math.ceil(perTenant * WAITING_SHARE)
  let open = 0
  const change = (tenant: string, kind: StreamKind, by: number): void => {
    open += by
    add(used, tenant, by)
    if (kind === 'tail') add(waiting, tenant, by)
  }
  /** One stream takes at most half of the share: in addition to open tails, one is possible on any machine, but never three at once. */
  const bytesOf = (kind: StreamKind, heldBytes: number): number =>
    STREAM_BYTES[kind] + Math.min(heldBytes, Math.max(0, memory.limitBytes / 2 - STREAM_BYTES[kind]))
  return {
    acquire: (tenant, kind, heldBytes = 0) => {
      if ((used.get(tenant) ?? 0) >= perTenant) return 'too-many-streams'
      if (kind === 'tail' && (waiting.get(tenant) ?? 0) >= waitingMost) return 'too-many-streams'
      const release = memory.take(bytesOf(kind, heldBytes), tenant)
      if (release === undefined) return 'overloaded'
      change(tenant, kind, 1)
      let isHeld = true
      return () => {
        if (isHeld) change(tenant, kind, -1)
        isHeld = false
        release()
      }
    },
    get open() {
      return open
    },
  }
}

function add(counts: Map<string, number>, tenant: string, by: number): void {
  const now = (counts.get(tenant) ?? 0) + by
  if (now === 0) counts.delete(tenant)
  else counts.set(tenant, now)
}
