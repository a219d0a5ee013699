/** @module What a client throws: the ledger's refusals, and a ledger that cannot be reached. */
import type { JsonObject } from '../../schemas/json.ts'

/** The ledger refused: `code` is stable, `problem` is the RFC 9457 body with its evidence. */
export class LedgerError extends Error {
  readonly code: string
  /** HTTP status. */
  readonly status: number
  readonly problem: JsonObject
  /** Where a fair time to ask again is known. */
  readonly retryAfterMs?: number

  constructor(status: number, problem: JsonObject) {
    const code = typeof problem.code === 'string' ? problem.code : `http-${status}`
    super(typeof problem.detail === 'string' ? problem.detail : `the ledger answered ${status}`)
    this.name = 'LedgerError'
    this.code = code
    this.status = status
    this.problem = problem
    if (typeof problem.retryAfterMs === 'number') this.retryAfterMs = problem.retryAfterMs
  }
}

/** No answer came, or none that a ledger gives; retries are used up. Whether the request was carried out is not known. */
export class UnreachableError extends Error {
  readonly code = 'unreachable'

  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'UnreachableError'
  }
}
