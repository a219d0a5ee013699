/** @module How long to wait before the next try. */

/** How long to wait before the next try, in milliseconds. */
export interface Backoff {
  readonly type: 'fixed' | 'exponential'
  /** Milliseconds before the first retry. */
  readonly delayMs: number
  /** Longest wait; default 30 seconds. */
  readonly maxMs?: number
  /** Spreads the waits over their upper half, so that many callers do not come back at once. */
  readonly jitter?: boolean
}

export const BACKOFF_DEFAULT: Backoff = { type: 'exponential', delayMs: 200, jitter: true }
const MAX_MS = 30_000

/** Milliseconds to wait after the `failures`-th failure (from 1); `random` from 0 up to 1. */
export function backoffMs(backoff: Backoff, failures: number, random: number): number {
  const { type, delayMs, maxMs = MAX_MS, jitter = false } = backoff
  const waitMs = Math.min(maxMs, type === 'fixed' ? delayMs : delayMs * 2 ** (failures - 1))
  return jitter ? waitMs * (0.5 + random / 2) : waitMs
}
