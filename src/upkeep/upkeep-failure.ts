/** @module Failures as messages: what whoever waits for a task is told of it. */
import { isOfRows, ViewBehindError } from '../ledger/read/view-behind.ts'
import { StoreUnavailableError } from '../store/event-store.ts'
import type { UpkeepFailure } from './protocol.ts'

export function failureOf(error: unknown): UpkeepFailure {
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof ViewBehindError) {
    const { view, cause } = error
    return {
      kind: 'behind',
      view,
      isOfRows: isOfRows(cause),
      message: cause instanceof Error ? cause.message : message,
    }
  }
  if (error instanceof StoreUnavailableError) return { kind: 'unavailable', message, retryAfterMs: error.retryAfterMs }
  return { kind: 'other', message }
}

export function errorOf(failure: UpkeepFailure): Error {
  const { message } = failure
  if (failure.kind === 'unavailable') return new StoreUnavailableError(message, failure.retryAfterMs)
  if (failure.kind === 'other') return new Error(message)
  return new ViewBehindError(failure.view, failure.isOfRows ? new RangeError(message) : new Error(message))
}
