/** @module The notice to a program that a run waits for a signal or a time. */

/** A run that waits for a signal, for a time, or for the first of both. */
export interface RunWaitNotice {
  readonly runId: string
  readonly waitId: string
  /** Name of the signal; absent if only time ends the wait. */
  readonly name?: string
  /** Latest end of the wait: RFC 3339. */
  readonly until?: string
}

export type OnWaiting = (notice: RunWaitNotice) => void
