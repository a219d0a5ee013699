/** @module Failures as messages: only what a caller is told crosses from one thread to the other. */
import { StoreUnavailableError } from '../store/event-store.ts'
import type { ReadFailure } from './protocol.ts'

export function failureOf(error: unknown): ReadFailure {
  const message = error instanceof Error ? error.message : String(error)
  return error instanceof StoreUnavailableError ? { message, retryAfterMs: error.retryAfterMs } : { message }
}

export function errorOf({ message, retryAfterMs }: ReadFailure): Error {
  return retryAfterMs === undefined ? new Error(message) : new StoreUnavailableError(message, retryAfterMs)
}
