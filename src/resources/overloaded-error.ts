/** @module What a reader or writer meets whose share of memory or time is used up: nothing was begun. */

export class OverloadedError extends Error {
  readonly code = 'overloaded'
  /** A fair time to ask again. */
  readonly retryAfterMs: number

  constructor(message: string, retryAfterMs: number) {
    super(message)
    this.name = 'OverloadedError'
    this.retryAfterMs = retryAfterMs
  }
}
