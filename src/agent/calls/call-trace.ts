/** @module Progress of a call, reported to its caller. */

/** Progress of a call, updated while it runs. */
export interface CallTrace {
  callId?: string
  attempts: number
  startedAt?: string
  endedAt?: string
  /** Something was executed in this process; not everything came from the record. */
  carriedOut?: boolean
}
