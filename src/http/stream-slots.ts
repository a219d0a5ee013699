/** @module How many streams a tenant holds open, and what memory they take: one that never reads must not keep others from reading. */
import type { MemoryAccount } from '../resources/memory-budget.ts'

const MIB = 1024 * 1024

/** What one read holds at once: pages of the store, text and buffers. Of streams, while their reader reads nothing. */
export const STREAM_BYTES = {
  page: 1 * MIB,
  /** A page of whole events: 2 MiB of texts and the last one over it, and the answer that is made of them. */
  events: 5 * MIB,
  tail: 1.5 * MIB,
  replay: 2 * MIB,
  export: 3 * MIB,
  /** While it is planned it remembers calls and runs besides, in a few megabytes; the answer in a bundle says itself how much more it may take. */
  bundle: 8 * MIB,
} as const

export type StreamKind = keyof typeof STREAM_BYTES

/** Gives the slot back; a second call does nothing. */
type Release = () => void

export interface StreamSlots {
  /** `heldBytes`: what this one holds beyond others of its kind. A slot, or why there is none: the tenant holds as many as it may, or the streams of all take all their memory. */
  acquire(tenant: string, kind: StreamKind, heldBytes?: number): Release | 'too-many-streams' | 'overloaded'
  /** Slots in use, of all tenants. */
  readonly open: number
}

export function createStreamSlots(perTenant: number, memory: MemoryAccount): StreamSlots {
  const used = new Map<string, number>()
  let open = 0
  const change = (tenant: string, by: number): void => {
    open += by
    const now = (used.get(tenant) ?? 0) + by
    if (now === 0) used.delete(tenant)
    else used.set(tenant, now)
  }
  /** One stream takes half of the share at most: beside tails that are open, one is made wherever the machine, and never three at once. */
  const bytesOf = (kind: StreamKind, heldBytes: number): number =>
    STREAM_BYTES[kind] + Math.min(heldBytes, Math.max(0, memory.limitBytes / 2 - STREAM_BYTES[kind]))
  return {
    acquire: (tenant, kind, heldBytes = 0) => {
      if ((used.get(tenant) ?? 0) >= perTenant) return 'too-many-streams'
      const release = memory.take(bytesOf(kind, heldBytes), tenant)
      if (release === undefined) return 'overloaded'
      change(tenant, 1)
      let isHeld = true
      return () => {
        if (isHeld) change(tenant, -1)
        isHeld = false
        release()
      }
    },
    get open() {
      return open
    },
  }
}
