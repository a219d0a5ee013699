/** @module What a client throws: the ledger's refusals, and a ledger that cannot be reached. */
import type { LedgerErrorCode } from '../../schemas/error-code.ts'
import type { Json, JsonObject } from '../../schemas/json.ts'

/**
 * The ledger refused: `code` is stable, `status` is that of HTTP, `problem` the RFC 9457 body with its evidence; `retryAfterMs` (milliseconds) where a fair
 * time to ask again is known.
 * @example
 * ```ts
 * import { createClient, LedgerError } from 'countersign/client'
 *
 * const client = createClient({ url: process.env.COUNTERSIGN_URL ?? '', token: process.env.COUNTERSIGN_TOKEN ?? '' })
 * const error = await client.run('nobody').catch((thrown) => thrown)
 * if (error instanceof LedgerError) console.log(error.status, error.code) // 404 run-not-found
 * ```
 */
export class LedgerError extends Error {
  /** `http-error` where the answer names none: it is not a ledger's. */
  readonly code: LedgerErrorCode
  /** HTTP status. */
  readonly status: number
  readonly problem: JsonObject
  /** Where a fair time to ask again is known. */
  readonly retryAfterMs?: number

  constructor(status: number, problem: JsonObject) {
    super(typeof problem.detail === 'string' ? problem.detail : `the ledger answered ${status}`)
    this.name = 'LedgerError'
    this.code = codeOf(problem)
    this.status = status
    this.problem = problem
    if (typeof problem.retryAfterMs === 'number') this.retryAfterMs = problem.retryAfterMs
  }
}

/** As the ledger says it: one that is newer may send a code that this release has no name for. */
export function codeOf({ code }: JsonObject): LedgerErrorCode {
  return typeof code === 'string' ? (code as LedgerErrorCode) : 'http-error'
}

/** What ends a list that could not look into some of its runs, behind all that it could: without it, the list would pass for whole. */
export function runsUnreadable(unreadable: readonly Json[]): LedgerError {
  const detail = `${unreadable.length} runs cannot be read: run "countersign verify"`
  return new LedgerError(500, { code: 'runs-unreadable', detail, unreadable: [...unreadable] })
}

/**
 * No answer came, or none that a ledger gives; retries are used up. Whether the request was carried out is not known.
 * @example
 * ```ts
 * import { createClient, UnreachableError } from 'countersign/client'
 *
 * const client = createClient({ url: 'http://127.0.0.1:1', token: 'none', retries: 0 })
 * const error = await client.run('r').catch((thrown) => thrown)
 * console.log(error instanceof UnreachableError, error.code) // true unreachable
 * ```
 */
export class UnreachableError extends Error {
  readonly code = 'unreachable'

  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'UnreachableError'
  }
}
