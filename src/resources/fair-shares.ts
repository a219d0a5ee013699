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

export function least<T extends { readonly used: number }>(
  shares: ReadonlyMap<string, T>,
  isReady: (share: T) => boolean,
): T | undefined {
  let found: T | undefined
  for (const share of shares.values()) {
    if (isReady(share) && (found === undefined || share.used < found.used)) found = share
  }
  return found
}

export function leastUsed(shares: ReadonlyMap<string, { readonly used: number }>): number {
  let least = Number.POSITIVE_INFINITY
  for (const { used } of shares.values()) least = Math.min(least, used)
  return shares.size === 0 ? 0 : least
}

/** One who waits, and how much of the thread it will take; any measure will do, if it is the same for all of a line. */
export interface InLine {
  readonly tenant: string
  readonly weight: number
}

interface LineShare<T> {
  used: number
  readonly waiting: T[]
}

/**
 * A line of tenants: the next is the first of the tenant that has taken least since somebody has been waiting, and of one tenant they go in the
 * order in which they came. Where one tenant alone waits it is a plain line.
 */
export class FairLine<T extends InLine> {
  readonly #shares = new Map<string, LineShare<T>>()
  #length = 0

  get length(): number {
    return this.#length
  }

  push(one: T): void {
    const waitsFor = least(this.#shares, ({ waiting }) => waiting.length > 0)?.used ?? 0
    const share: LineShare<T> = this.#shares.get(one.tenant) ?? { used: 0, waiting: [] }
    // Who comes back is not owed what it did not ask for.
    if (share.waiting.length === 0) share.used = Math.max(share.used, waitsFor)
    share.waiting.push(one)
    this.#length += 1
    putLast(this.#shares, one.tenant, share, ({ waiting }) => waiting.length > 0)
  }

  /** Takes the next one off the line, where it is one that `fits`. */
  shift(fits: (next: T) => boolean = () => true): T | undefined {
    const share = least(this.#shares, ({ waiting }) => waiting.length > 0)
    const [next] = share?.waiting ?? []
    if (share === undefined || next === undefined || !fits(next)) return undefined
    share.waiting.shift()
    share.used += next.weight
    this.#length -= 1
    // Nobody waits: what was taken is forgotten, and all begin alike.
    if (this.#length === 0) this.#shares.clear()
    return next
  }
}
