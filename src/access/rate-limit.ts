/** @module Token buckets: so many requests a second for each name, and some at once. */
import { LRUCache } from 'lru-cache'

/** What the names remembered take, where nobody says how much. A name that falls out starts with a full bucket again. */
const NAMES_MAX_BYTES = 2 * 1024 * 1024
const BUCKET_BYTES = 160

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

/** What sums of fractions may fall short of a whole request: who waited as told must pass. */
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
