/**
 * @module Rate limits: requests per tenant and per token subject, the work that they cause, and refused tokens per address. The cost of
 * work is known only afterwards: it is charged then, and a caller in debt is refused until the debt is paid. Reading and writing have
 * separate allowances, so that an auditor's debt does not keep agents from writing. A caller that has the server to itself is not charged,
 * since its work delays no other caller.
 */
import { LRUCache } from 'lru-cache'
import type { Work, WorkKind } from '../resources/fair-shares.ts'
import type { MemoryBudget } from '../resources/memory-budget.ts'
import type { Principal } from '../signing/tokens.ts'

export interface RateSettings {
  /** Requests per second of one tenant, and of one token subject; 0 turns the limit off. */
  readonly ratePerSecond: number
  /** Requests that may arrive at once on top of the rate. */
  readonly rateBurst: number
  /** Milliseconds of the server's thread per second that one tenant may use for reading, and the same again for writing; 0 turns the limit off. */
  readonly workMsPerSecond: number
  /** Refused tokens per second of one remote address; 0 turns the limit off. */
  readonly refusedTokensPerSecond: number
}

type Asker = Pick<Principal, 'tenant' | 'subject'>

/** The limit that a request exceeds, and the milliseconds until it may be sent again. */
export interface RateFault {
  readonly limit: 'requests' | 'work'
  readonly waitMs: number
}

export interface Rates {
  /** Counts a request. Returns undefined if the request may pass. */
  admit(caller: Asker, kind: WorkKind): RateFault | undefined
  /** Charges a tenant for a request that counts as more than one, such as a batch; it may leave a debt. */
  charge(tenant: string, cost: number): void
  /** Charges the tenant and the caller for work done while other tenants or callers were active; it may leave a debt. */
  worked(work: Work): void
  /** Counts a refused token. Returns 0 if the address may try again at once, otherwise the milliseconds until it may. */
  refusedToken(remoteAddress: string): number
}

/** Refused tokens of one address that may arrive at once. */
const REFUSED_TOKENS_BURST = 100
/** Work that may be done at once on top of the rate, in seconds of the rate. */
const WORK_BURST_SECONDS = 30
/** Share of its tenant's time that one caller may use; the rest always remains for the tenant's other callers. */
const CALLER_PART = 0.75
/** How long after a request its tenant and caller count as active. */
const PRESENCE_MS = 60_000
const LIMITERS = 7

export function createRates(settings: RateSettings, memory: MemoryBudget, now: () => number): Rates {
  const { ratePerSecond: perSecond, rateBurst: burst, workMsPerSecond, refusedTokensPerSecond } = settings
  const limited = (limit: RateLimit): RateLimiter => rateWithin(memory, limit)
  const tenants = limited({ perSecond, burst })
  const subjects = limited({ perSecond, burst })
  const addresses = limited({ perSecond: refusedTokensPerSecond, burst: REFUSED_TOKENS_BURST })
  const worker = (part: number): RateLimiter =>
    limited({ perSecond: part * workMsPerSecond, burst: part * workMsPerSecond * WORK_BURST_SECONDS })
  const work = {
    read: { tenants: worker(1), callers: worker(CALLER_PART) },
    write: { tenants: worker(1), callers: worker(CALLER_PART) },
  }
  const present = { tenants: new RecentUsers(PRESENCE_MS), callers: new RecentUsers(PRESENCE_MS) }
  return {
    admit: ({ tenant, subject }, kind) => {
      const nowMs = now()
      const caller = `${tenant} ${subject}`
      present.tenants.saw(tenant, nowMs)
      present.callers.saw(caller, nowMs)
      const owedMs = Math.max(work[kind].tenants.debt(tenant, nowMs), work[kind].callers.debt(caller, nowMs))
      if (owedMs > 0) return { limit: 'work', waitMs: owedMs }
      const waitMs = tenants.take(tenant, nowMs) || subjects.take(caller, nowMs)
      return waitMs > 0 ? { limit: 'requests', waitMs } : undefined
    },
    charge: (tenant, cost) => tenants.charge(tenant, now(), cost),
    worked: ({ party: { tenant, caller }, kind, ms }) => {
      const nowMs = now()
      const name = `${tenant} ${caller}`
      if (present.tenants.othersThan(tenant, nowMs)) work[kind].tenants.charge(tenant, nowMs, ms)
      if (present.callers.othersThan(name, nowMs)) work[kind].callers.charge(name, nowMs, ms)
    },
    refusedToken: (remoteAddress) => addresses.take(remoteAddress, now()),
  }
}

/** Creates a limiter that gets an equal part of the memory for rates. */
function rateWithin(memory: MemoryBudget, limit: RateLimit): RateLimiter {
  const limiter = createRateLimiter(limit, Math.floor(memory.limitOf('rates') / LIMITERS))
  memory.watch('rates', () => limiter.bytes)
  return limiter
}

/** Default memory limit of the remembered names, in bytes. An evicted name starts again with a full bucket. */
const NAMES_MAX_BYTES = 2 * 1024 * 1024
const BUCKET_BYTES = 160

/** A token bucket per name: requests per second, and a burst on top. */
export interface RateLimit {
  readonly perSecond: number
  readonly burst: number
}

export interface RateLimiter {
  /** Memory used by the remembered names, in bytes. */
  readonly bytes: number
  /** Returns 0 if the request may pass, otherwise the milliseconds until one may. */
  take(name: string, nowMs: number): number
  /** Charges for a request that counts as more than one; it may leave a debt. */
  charge(name: string, nowMs: number, cost: number): void
  /** Returns 0 if there is no debt, otherwise the milliseconds until it is paid. Consumes nothing. */
  debt(name: string, nowMs: number): number
}

/** Rounding error allowed in sums of fractions: a caller that has waited for the announced time must pass. */
const ROUNDING = 1e-6

interface Bucket {
  level: number
  atMs: number
}

/** A rate of 0 per second lets everything pass. */
export function createRateLimiter({ perSecond, burst }: RateLimit, maxBytes = NAMES_MAX_BYTES): RateLimiter {
  if (perSecond === 0) return { take: () => 0, charge: () => undefined, debt: () => 0, bytes: 0 }
  const buckets = new LRUCache<string, Bucket>({
    maxSize: maxBytes,
    sizeCalculation: (_, name) => BUCKET_BYTES + 2 * name.length,
  })

  const bucketOf = (name: string, nowMs: number): Bucket => {
    const bucket = buckets.get(name)
    if (bucket === undefined) {
      const full = { level: burst, atMs: nowMs }
      buckets.set(name, full)
      return full
    }
    // A clock that went backwards adds nothing to the bucket.
    const passedMs = Math.max(0, nowMs - bucket.atMs)
    bucket.level = Math.min(burst, bucket.level + (passedMs * perSecond) / 1000)
    bucket.atMs = nowMs
    return bucket
  }
  return {
    get bytes() {
      return buckets.calculatedSize
    },
    take: (name, nowMs) => {
      const bucket = bucketOf(name, nowMs)
      if (bucket.level < 1 - ROUNDING) return Math.ceil(((1 - bucket.level) * 1000) / perSecond)
      bucket.level -= 1
      return 0
    },
    charge: (name, nowMs, cost) => {
      bucketOf(name, nowMs).level -= cost
    },
    debt: (name, nowMs) => {
      const { level } = bucketOf(name, nowMs)
      return level < -ROUNDING ? Math.ceil((-level * 1000) / perSecond) : 0
    },
  }
}

/** Tells whether another user was active lately. The last two distinct users are enough to answer this for any name. */
export class RecentUsers {
  readonly #windowMs: number
  #last: { readonly name: string; readonly atMs: number } | undefined
  #other: { readonly name: string; readonly atMs: number } | undefined

  constructor(windowMs: number) {
    this.#windowMs = windowMs
  }

  saw(name: string, nowMs: number): void {
    if (this.#last?.name !== name) this.#other = this.#last
    this.#last = { name, atMs: nowMs }
  }

  /** True if a user other than `name` was seen within the window. */
  othersThan(name: string, nowMs: number): boolean {
    const other = this.#last?.name === name ? this.#other : this.#last
    return other !== undefined && nowMs - other.atMs <= this.#windowMs
  }
}
