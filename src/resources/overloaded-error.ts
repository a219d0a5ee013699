/** @module The error for a reader or writer whose share of memory or time is used up; no work was started. */

export class OverloadedError extends Error {
  readonly code = 'overloaded'
  /** Suggested delay before a retry. */
  readonly retryAfterMs: number

  constructor(message: string, retryAfterMs: number) {
    super(message)
    this.name = 'OverloadedError'
    this.retryAfterMs = retryAfterMs
  }
}
