/** @module The notice that a program gets of a run that waits for a signal or a time. */

/** A run that waits for a signal, for a time, or for whichever comes first. */
export interface RunWaitNotice {
  readonly runId: string
  readonly waitId: string
  /** Of the signal; absent where only time ends the wait. */
  readonly name?: string
  /** When it is over in any case: RFC 3339. */
  readonly until?: string
}

export type OnWaiting = (notice: RunWaitNotice) => void
