/** @module Which refusals end a program's part in a run. */

/** After these this process is not the run's any more, or is not heard for a while: what it does is no reason to undo the run. */
export const HALTING: ReadonlySet<string> = new Set(['run-taken-over', 'run-ended', 'unauthenticated', 'rate-limited'])
