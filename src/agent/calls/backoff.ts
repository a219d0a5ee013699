/** @module Wait times between retries. */

/** How long to wait before the next retry. */
export interface Backoff {
  readonly type: 'fixed' | 'exponential'
  /** Milliseconds before the first retry. */
  readonly delayMs: number
  /** Longest wait; default 30 seconds. */
  readonly maxMs?: number
  /** Randomizes each wait within its upper half, so that many callers do not retry at the same time. */
  readonly jitter?: boolean
}

export const BACKOFF_DEFAULT: Backoff = { type: 'exponential', delayMs: 200, jitter: true }
const MAX_MS = 30_000

/** Milliseconds to wait after failure number `failures` (from 1); `random` is in [0, 1). */
export function backoffMs(backoff: Backoff, failures: number, random: number): number {
  const { type, delayMs, maxMs = MAX_MS, jitter = false } = backoff
  const waitMs = Math.min(maxMs, type === 'fixed' ? delayMs : delayMs * 2 ** (failures - 1))
  return jitter ? waitMs * (0.5 + random / 2) : waitMs
}
