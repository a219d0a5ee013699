/** @module Timeouts and intervals of the store, in milliseconds; tests shorten them. */

export interface Timings {
  /** Timeout of one write (`callMs`), and of one read (`readMs`). */
  readonly callMs: number
  readonly readMs: number
  /** Time limit for determining the outcome of an append whose answer was lost. */
  readonly settleMs: number
  /** Interval between probes of a server that does not answer, plus or minus half. */
  readonly probeMs: number
  /** How long a start waits for the server. */
  readonly openMs: number
  /** How long a read of all events waits for earlier writes that are still in flight; after that it omits them and all events after them. */
  readonly writersMs: number
  /** Polling interval of waiting subscribers: notifications get lost with a connection and behind some poolers. */
  readonly pollMs: number
  /** Minimum interval between two notifications of this process: each is a separate transaction, and wakes every other process. */
  readonly announceMs: number
  /** Delay before reconnecting after the connection for notifications was lost. */
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
