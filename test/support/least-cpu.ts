/** @module Processor time of work, as the least of a few runs: collection of garbage and neighbours on a shared machine do not come each time. */

const RUNS_MAX = 4

/** In milliseconds, of this process and in its own code. The work is repeated only while it takes more than `enoughMs`. */
export function leastCpuMs(enoughMs: number, work: () => void): number {
  let least = Number.POSITIVE_INFINITY
  for (let run = 0; run < RUNS_MAX && least > enoughMs; run += 1) {
    const before = process.cpuUsage()
    work()
    least = Math.min(least, process.cpuUsage(before).user / 1_000)
  }
  return least
}
