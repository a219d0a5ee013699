/** @module How long the store waits for what. Milliseconds; tests shorten them. */

export interface Timings {
  /** Longest wait for one write, and for one read. */
  readonly callMs: number
  readonly readMs: number
  /** After an append's answer was lost, the time to find out what became of it. */
  readonly settleMs: number
  /** Between two looks at a server that does not answer, give or take half. */
  readonly probeMs: number
  /** How long a start waits for the server. */
  readonly openMs: number
  /** How long a reading of everything waits for writes under way that began before it; then it does without them and what lies behind. */
  readonly writersMs: number
  /** How often sleeping subscribers look by themselves: notifications get lost with a connection and behind some poolers. */
  readonly pollMs: number
  /** Shortest time between two notifications of this process: each is a transaction of its own, and wakes every other process. */
  readonly announceMs: number
  /** After the connection that notifications come by was cut, the time until the next one is made. */
  readonly listenAgainMs: number
}

export const DEFAULT_TIMINGS: Timings = {
  callMs: 10_000,
  readMs: 30_000,
  settleMs: 10_000,
  probeMs: 250,
  openMs: 30_000,
  writersMs: 1_000,
  pollMs: 1_000,
  announceMs: 10,
  listenAgainMs: 1_000,
}
