/** @module Converts a thrown error into a problem: a temporary failure of the ledger or its store, or an internal error. */
import { randomUUID } from 'node:crypto'
import type { ProblemCode } from '../../schemas/error-code.ts'
import { DamagedIndexError } from '../ledger/audit/audit-reads.ts'
import { IndexBuildingError } from '../ledger/audit/index-building.ts'
import { NotOnRecordError } from '../ledger/identity/ledger-facts.ts'
import { DamagedStreamError } from '../ledger/read/verified-events.ts'
import { ViewBehindError } from '../ledger/read/view-behind.ts'
import { RevocationsUnknownError } from '../ledger/tokens/tokens.ts'
import { OverloadedError } from '../resources/overloaded-error.ts'
import { ReaderLeftError } from '../resources/work-queue.ts'
import { ArchiveMissingError } from '../store/archive-missing-error.ts'
import { DerivedFileRenewedError } from '../store/derived-file.ts'
import { StoreUnavailableError, StoreWentBackError, StreamDeletedError } from '../store/event-store.ts'
import { problemResponse } from './answers.ts'
import type { HttpContext } from './http-context.ts'
import { type Problem, problem } from './problems.ts'
import type { HttpDeps } from './route.ts'

const NOT_ON_RECORD =
  'what leaves the ledger is recorded first, and the store accepts no record now, as on a full disk: nothing was given out'

const WENT_BACK = 'the store no longer holds an event that it had acknowledged: nothing is read from it'

const MADE_ANEW = 'an index that this answer rests on is being rebuilt from the store'

/** The list is part of what makes a token valid. */
function unreadable(error: StoreUnavailableError): string {
  if (!(error instanceof RevocationsUnknownError)) return 'the store cannot be read now'
  return `whether this token was revoked cannot be read, so it is not accepted: ${error.message}`
}

/** Any other error is internal: it is logged under an id, and the answer contains only that id. */
export function failure(error: unknown, deps: Pick<HttpDeps, 'log'>, c: HttpContext): Response {
  const known = problemOfError(error)
  if (known !== undefined) return problemResponse(known, c.req.path)
  const errorId = randomUUID()
  deps.log.error({ err: error, errorId, method: c.req.method, path: c.req.path }, 'a request failed')
  return problemResponse(problem('internal', 'the server failed', { evidence: { errorId } }), c.req.path)
}

/** A temporary failure, or damage of the store, as a problem: the same for the API and for pages. Undefined for any other error, which is internal. */
export function problemOfError(error: unknown): Problem | undefined {
  // The client has disconnected: this answer is never read.
  if (error instanceof ReaderLeftError) return problem('overloaded', error.message)
  if (error instanceof OverloadedError) return retried('overloaded', error)
  if (error instanceof IndexBuildingError) {
    const { message, retryAfterMs, progress } = error
    return problem('index-building', message, { retryAfterMs, evidence: { progress: { ...progress } } })
  }
  if (error instanceof ViewBehindError) return retried('view-behind', error)
  if (error instanceof DerivedFileRenewedError)
    return problem('index-building', MADE_ANEW, { retryAfterMs: error.retryAfterMs })
  if (error instanceof StoreWentBackError) return problem('store-went-back', WENT_BACK)
  if (error instanceof ArchiveMissingError) return retried('archive-missing', error)
  if (error instanceof StoreUnavailableError) {
    const detail = error instanceof NotOnRecordError ? NOT_ON_RECORD : unreadable(error)
    return problem('store-unavailable', detail, { retryAfterMs: error.retryAfterMs })
  }
  const isDamaged =
    error instanceof DamagedStreamError || error instanceof StreamDeletedError || error instanceof DamagedIndexError
  return isDamaged ? problem('stream-damaged', error.message) : undefined
}

function retried(code: ProblemCode, { message, retryAfterMs }: { message: string; retryAfterMs: number }): Problem {
  return problem(code, message, { retryAfterMs })
}
