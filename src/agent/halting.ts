/** @module Which refusals end a program's part in a run. */

/** After these this process is not the run's any more. */
export const HALTING: ReadonlySet<string> = new Set(['run-taken-over', 'run-ended', 'unauthenticated'])
