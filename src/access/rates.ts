/**
 * @module How much may be asked: requests of a tenant and of a token's subject, the work that they make, and refused tokens of an address.
 * Work is known once it is done: it is charged then, and who owes time is refused until it is paid. Reading and writing have time of their
 * own each, so that no auditor's debt keeps agents from writing. Whoever has the server to itself is not charged: time that nobody else
 * wants is nobody's loss.
 */
import { LRUCache } from 'lru-cache'
import type { Work, WorkKind } from '../resources/fair-shares.ts'
import type { MemoryBudget } from '../resources/memory-budget.ts'
import type { Principal } from '../signing/tokens.ts'

export interface RateSettings {
  /** Requests a second of one tenant, and of one token subject; 0 turns the limit off. */
  readonly ratePerSecond: number
  /** Requests that may come at once on top of the rate. */
  readonly rateBurst: number
  /** Milliseconds of the server's thread a second that one tenant may use for reading, and as many for writing; 0 turns the limit off. */
  readonly workMsPerSecond: number
  /** Refused tokens a second of one remote address; 0 turns the limit off. */
  readonly refusedTokensPerSecond: number
}

type Asker = Pick<Principal, 'tenant' | 'subject'>

/** Why a request may not pass now, and for how long. */
export interface RateFault {
  readonly limit: 'requests' | 'work'
  readonly waitMs: number
}

export interface Rates {
  /** Counts a request: undefined where it may pass. */
  admit(caller: Asker, kind: WorkKind): RateFault | undefined
  /** Charges a tenant for what turned out to be more than one request; it may leave a debt. */
  charge(tenant: string, cost: number): void
  /** Charges tenant and caller for work that was done while others were there; it may leave a debt. */
  worked(work: Work): void
  /** Counts a refused token: 0 where the address may try again at once, else the milliseconds until it may. */
  refusedToken(remoteAddress: string): number
}

/** Refused tokens of one address that may come at once. */
const REFUSED_TOKENS_BURST = 100
/** Seconds' worth of work that may be done at once on top of the rate. */
const WORK_BURST_SECONDS = 30
/** Of a tenant's time, one caller's: the others always have the rest. */
const CALLER_PART = 0.75
/** How long after a request its tenant and caller count as there. */
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

/** Each of them has as large a part of the share. */
function rateWithin(memory: MemoryBudget, limit: RateLimit): RateLimiter {
  const limiter = createRateLimiter(limit, Math.floor(memory.limitOf('rates') / LIMITERS))
  memory.watch('rates', () => limiter.bytes)
  return limiter
}

/** What the names remembered take, where nobody says how much. A name that falls out starts with a full bucket again. */
const NAMES_MAX_BYTES = 2 * 1024 * 1024
const BUCKET_BYTES = 160

/** Token buckets: so many requests a second for each name, and some at once. */
export interface RateLimit {
  readonly perSecond: number
  readonly burst: number
}

export interface RateLimiter {
  /** What the names remembered take in memory. */
  readonly bytes: number
  /** 0 where the request may pass; else the milliseconds until one may. */
  take(name: string, nowMs: number): number
  /** Charges what turned out to be more than one request; it may leave a debt. */
  charge(name: string, nowMs: number, cost: number): void
  /** 0 where nothing is owed; else the milliseconds until the debt is paid. Takes nothing. */
  debt(name: string, nowMs: number): number
}

/** What sums of fractions may fall short of a whole request: whoever waited as long as the answer said must pass. */
const ROUNDING = 1e-6

interface Bucket {
  level: number
  atMs: number
}

/** A limit of 0 a second lets everything pass. */
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
    // A clock that went back fills nothing.
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

/** Whether somebody else has used the server lately. Remembers the last two that differ: enough to say of anybody whether another one was there. */
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

  /** True where anybody but `name` was seen within the window. */
  othersThan(name: string, nowMs: number): boolean {
    const other = this.#last?.name === name ? this.#other : this.#last
    return other !== undefined && nowMs - other.atMs <= this.#windowMs
  }
}
