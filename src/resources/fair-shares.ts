/** @module Parties that share the time of a thread: who they are, what their work is counted as, and who goes next: whoever has used least, of those that wait. */

/** Whose work it is: shares are divided among tenants, then among the callers of each. */
export interface Party {
  readonly tenant: string
  readonly caller: string
}

export type WorkKind = 'read' | 'write'

/** What somebody's request took of this thread. */
export interface Work {
  readonly party: Party
  readonly kind: WorkKind
  readonly ms: number
}

/** Keeps account of work. */
export type Charge = (work: Work) => void

/** Tenants, and callers of one, whose use is remembered while they wait for nothing. A slice of whoever falls out is forgiven. */
const IDLE_MAX = 256

/** Puts a party last. Where there are too many, the two in front are looked at: one that waits goes to the end, an idle one is forgotten. */
export function putLast<T>(parties: Map<string, T>, name: string, party: T, waits: (party: T) => boolean): void {
  parties.delete(name)
  parties.set(name, party)
  let looks = 2
  for (const [first, idle] of parties) {
    if (parties.size <= IDLE_MAX || looks === 0) return
    looks -= 1
    parties.delete(first)
    if (waits(idle)) parties.set(first, idle)
  }
}

export function least<T extends { readonly usedMs: number }>(
  shares: ReadonlyMap<string, T>,
  isReady: (share: T) => boolean,
): T | undefined {
  let found: T | undefined
  for (const share of shares.values()) {
    if (isReady(share) && (found === undefined || share.usedMs < found.usedMs)) found = share
  }
  return found
}

export function leastUsed(shares: ReadonlyMap<string, { readonly usedMs: number }>): number {
  let used = Number.POSITIVE_INFINITY
  for (const { usedMs } of shares.values()) used = Math.min(used, usedMs)
  return shares.size === 0 ? 0 : used
}
