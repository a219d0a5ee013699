/** @module How long the store waits for what. Milliseconds; tests shorten them. */

export interface Timings {
  /** Deadline of one call. */
  readonly callMs: number
  /** After an append's answer was lost, the time to find out what became of it. */
  readonly settleMs: number
  /** In the first part of an outage calls wait for its end instead of failing. */
  readonly graceMs: number
  /** Between two looks at a node that does not answer, give or take half. */
  readonly probeMs: number
  readonly probeCallMs: number
  /** How long a start waits for the node. */
  readonly openMs: number
  /** How often sleeping subscribers look by themselves, should a wake-up be lost with a connection. */
  readonly pollMs: number
}

export const DEFAULT_TIMINGS: Timings = {
  callMs: 5_000,
  settleMs: 3_000,
  graceMs: 500,
  probeMs: 200,
  probeCallMs: 1_000,
  openMs: 30_000,
  pollMs: 2_000,
}
