/** @module The point of a run's past that a question is about. */

export interface RunAt {
  /** Of the last event that counts. */
  readonly revision: number
  /** By what time a lease is over, in milliseconds since 1970; absent: by the time of that event. */
  readonly timeMs?: number
}
