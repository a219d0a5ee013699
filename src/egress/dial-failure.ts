/**
 * @module The reason why a guarded request failed, as text with no part of the URL except its host, because some receivers have secrets in paths and queries.
 */
import { DialError } from './dial-error.ts'

export function dialFailure(error: unknown, timeoutMs: number): string {
  if (error instanceof DialError)
    return error.code === 'redirect-refused' ? `it redirects (${error.evidence.status})` : error.message
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'TimeoutError') return `it does not answer within ${timeoutMs} ms`
  const { cause } = error
  if (cause instanceof DialError) return dialFailure(cause, timeoutMs)
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : undefined
  return code ?? (cause instanceof Error ? cause.message : error.message)
}
