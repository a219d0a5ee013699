/** @module How often may be asked: requests of a tenant and of a token's subject, and refused tokens of an address. */
import type { MemoryBudget } from '../resources/memory-budget.ts'
import type { Principal } from '../signing/tokens.ts'
import { createRateLimiter, type RateLimit, type RateLimiter } from './rate-limit.ts'

export interface RateSettings {
  /** Requests a second of one tenant, and of one token subject; 0 turns the limit off. */
  readonly ratePerSecond: number
  /** Requests that may come at once on top of the rate. */
  readonly rateBurst: number
  /** Refused tokens a second of one remote address; 0 turns the limit off. */
  readonly refusedTokensPerSecond: number
}

type Asker = Pick<Principal, 'tenant' | 'subject'>

export interface Rates {
  /** Counts a request: 0 where it may pass, else the milliseconds until one may. */
  admit(caller: Asker): number
  /** Charges a tenant for what turned out to be more than one request; it may leave a debt. */
  charge(tenant: string, cost: number): void
  /** Counts a refused token: 0 where the address may try again at once, else the milliseconds until it may. */
  refusedToken(remoteAddress: string): number
}

/** Refused tokens of one address that may come at once. */
const REFUSED_TOKENS_BURST = 100

export function createRates(
  { ratePerSecond: perSecond, rateBurst: burst, refusedTokensPerSecond }: RateSettings,
  memory: MemoryBudget,
  now: () => number,
): Rates {
  const tenants = rateWithin(memory, { perSecond, burst })
  const subjects = rateWithin(memory, { perSecond, burst })
  const addresses = rateWithin(memory, { perSecond: refusedTokensPerSecond, burst: REFUSED_TOKENS_BURST })
  return {
    admit: ({ tenant, subject }) => {
      const nowMs = now()
      return tenants.take(tenant, nowMs) || subjects.take(`${tenant} ${subject}`, nowMs)
    },
    charge: (tenant, cost) => tenants.charge(tenant, now(), cost),
    refusedToken: (remoteAddress) => addresses.take(remoteAddress, now()),
  }
}

/** Tenants, subjects and addresses have a third of the share each. */
function rateWithin(memory: MemoryBudget, limit: RateLimit): RateLimiter {
  const limiter = createRateLimiter(limit, Math.floor(memory.limitOf('rates') / 3))
  memory.watch('rates', () => limiter.bytes)
  return limiter
}
