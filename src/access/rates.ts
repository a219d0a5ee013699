/**
 * @module How much may be asked: requests of a tenant and of a token's subject, the work that they make, and refused tokens of an address.
 * Work is known once it is done: it is charged then, and who owes time is refused until it is paid. Reading and writing have time of their
 * own each, so that no auditor's debt keeps agents from writing. Whoever has the server to itself is not charged: time that nobody else
 * wants is nobody's loss.
 */
import type { MemoryBudget } from '../resources/memory-budget.ts'
import type { Work, WorkKind } from '../resources/work-queue.ts'
import type { Principal } from '../signing/tokens.ts'
import { createRateLimiter, type RateLimit, type RateLimiter } from './rate-limit.ts'
import { RecentUsers } from './recent-users.ts'

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
