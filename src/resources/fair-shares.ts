/** @module Fair sharing of a thread's time: the parties, the accounting of their work, and the choice of the waiting party that has used least. */

/** The owner of work: shares are divided among tenants, then among the callers of each. */
export interface Party {
  readonly tenant: string
  readonly caller: string
}

export type WorkKind = 'read' | 'write'

/** Time on this thread that a party's request used. */
export interface Work {
  readonly party: Party
  readonly kind: WorkKind
  readonly ms: number
}

/** Records work in an account. */
export type Charge = (work: Work) => void

/** Number of tenants, and of callers of a tenant, whose use is remembered while they are idle. The use of a party that is dropped is forgotten. */
const IDLE_MAX = 256

/** Moves a party to the end. If there are too many, the two oldest are checked: a waiting one moves to the end, an idle one is dropped. */
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

/** A waiting entry and the amount of the thread's time that it needs, in any unit that is the same for the whole line. */
export interface InLine {
  readonly tenant: string
  readonly weight: number
}

interface LineShare<T> {
  used: number
  readonly waiting: T[]
}

/**
 * A waiting line for tenants: next is the first entry of the tenant with the least use since the line was last empty; the entries of one tenant keep their
 * order. With a single tenant it is a plain FIFO queue.
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
    // A tenant that returns gets no credit for the time when it asked for nothing.
    if (share.waiting.length === 0) share.used = Math.max(share.used, waitsFor)
    share.waiting.push(one)
    this.#length += 1
    putLast(this.#shares, one.tenant, share, ({ waiting }) => waiting.length > 0)
  }

  /** Removes and returns the next entry if it `fits`. */
  shift(fits: (next: T) => boolean = () => true): T | undefined {
    const share = least(this.#shares, ({ waiting }) => waiting.length > 0)
    const [next] = share?.waiting ?? []
    if (share === undefined || next === undefined || !fits(next)) return undefined
    share.waiting.shift()
    share.used += next.weight
    this.#length -= 1
    // The line is empty: recorded use is forgotten, and all tenants start equal.
    if (this.#length === 0) this.#shares.clear()
    return next
  }
}
