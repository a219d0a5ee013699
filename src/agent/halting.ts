/** @module The refusals after which a process stops working on a run. */

/** Refusals after which the process no longer owns the run, or its requests are rejected for a while; they are no reason to undo the run. */
export const HALTING: ReadonlySet<string> = new Set(['run-taken-over', 'run-ended', 'unauthenticated', 'rate-limited'])
