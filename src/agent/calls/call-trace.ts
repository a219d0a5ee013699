/** @module What a call tells while it happens, to whoever called it. */

/** What became of a call, reported while it happens. */
export interface CallTrace {
  callId?: string
  attempts: number
  startedAt?: string
  endedAt?: string
  /** Something ran in this life: not all of it came from the record. */
  carriedOut?: boolean
}
