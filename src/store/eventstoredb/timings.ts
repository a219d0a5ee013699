/** @module Timeouts and intervals of the store, in milliseconds; tests shorten them. */

export interface Timings {
  /** Deadline of one call. */
  readonly callMs: number
  /** Time limit for determining the outcome of an append whose answer was lost. */
  readonly settleMs: number
  /** Initial part of an outage during which calls wait for its end instead of failing. */
  readonly graceMs: number
  /** Interval between probes of a node that does not answer, plus or minus half. */
  readonly probeMs: number
  readonly probeCallMs: number
  /** How long a start waits for the node. */
  readonly openMs: number
  /** Polling interval of waiting subscribers, in case a notification is lost with a connection. */
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
