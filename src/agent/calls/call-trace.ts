/** @module Progress of a call, reported to its caller. */

/** Progress of a call, updated while it runs. */
export interface CallTrace {
  callId?: string
  attempts: number
  startedAt?: string
  endedAt?: string
  /** Whether something was executed in this process, rather than everything being served from the record. */
  carriedOut?: boolean
}
