/** @module Errors thrown by a client: refusals of the ledger, and an unreachable ledger. */
import type { LedgerErrorCode } from '../../schemas/error-code.ts'
import type { Json, JsonObject } from '../../schemas/json.ts'

/**
 * A refusal by the ledger: `code` is stable, `status` is the HTTP status, `problem` the RFC 9457 body with its evidence, and `retryAfterMs` (milliseconds) the
 * recommended wait before a retry, if known.
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
  /** `http-error` if the answer has no code, because it is not from a ledger. */
  readonly code: LedgerErrorCode
  /** HTTP status. */
  readonly status: number
  readonly problem: JsonObject
  /** Recommended wait before a retry, in milliseconds, if known. */
  readonly retryAfterMs?: number
  /** Revision of the run's last event after the refusal; if the refusal was recorded, that of its own event. */
  readonly revision?: number

  constructor(status: number, problem: JsonObject, revision?: number) {
    super(typeof problem.detail === 'string' ? problem.detail : `the ledger answered ${status}`)
    this.name = 'LedgerError'
    this.code = codeOf(problem)
    this.status = status
    this.problem = problem
    if (revision !== undefined) this.revision = revision
    if (typeof problem.retryAfterMs === 'number') this.retryAfterMs = problem.retryAfterMs
  }
}

/** The code in a problem; a newer ledger may send a code that this release does not know. */
export function codeOf({ code }: JsonObject): LedgerErrorCode {
  return typeof code === 'string' ? (code as LedgerErrorCode) : 'http-error'
}

/** Thrown after the last item of a list if some runs could not be read, so that the list is not mistaken for complete. */
export function runsUnreadable(unreadable: readonly Json[]): LedgerError {
  const detail = `${unreadable.length} runs cannot be read: run "countersign verify"`
  return new LedgerError(500, { code: 'runs-unreadable', detail, unreadable: [...unreadable] })
}

/**
 * No answer arrived, or not one of a ledger, and retries are used up. It is unknown whether the request was executed.
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
