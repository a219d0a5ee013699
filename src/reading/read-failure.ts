/** @module Failures as messages: only what a caller is told crosses from one thread to the other, and whether the caller is still there. */
import { DamagedIndexError } from '../ledger/audit/audit-reads.ts'
import { ReaderLeftError } from '../resources/work-queue.ts'
import { DerivedFileRenewedError } from '../store/derived-file.ts'
import { StoreUnavailableError } from '../store/event-store.ts'
import type { ReadFailure } from './protocol.ts'

export function failureOf(error: unknown): ReadFailure {
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof ReaderLeftError) return { message, hasLeft: true }
  if (error instanceof DamagedIndexError) {
    const { stream, revision } = error
    return { message, missing: { stream, revision } }
  }
  if (error instanceof DerivedFileRenewedError) return { message, renewal: error.renewal }
  return error instanceof StoreUnavailableError ? { message, retryAfterMs: error.retryAfterMs } : { message }
}

export function errorOf({ message, retryAfterMs, hasLeft, missing, renewal }: ReadFailure): Error {
  if (hasLeft === true) return new ReaderLeftError()
  if (missing !== undefined) return new DamagedIndexError(missing.stream, missing.revision)
  if (renewal !== undefined) return new DerivedFileRenewedError(renewal)
  return retryAfterMs === undefined ? new Error(message) : new StoreUnavailableError(message, retryAfterMs)
}
