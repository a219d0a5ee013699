/** @module What a span says of an error: its code or its class, and no text of its message, which may hold what the call was about. */
import { RunWaiting } from '../errors.ts'

/** `error.type`; undefined for what is no failure: a run that waits goes on later. */
export function failureTypeOf(error: unknown): string | undefined {
  if (error instanceof RunWaiting) return undefined
  if (!(error instanceof Error)) return '_OTHER'
  const code = 'code' in error ? error.code : undefined
  return typeof code === 'string' && code !== '' ? code : error.name
}
