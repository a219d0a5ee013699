/** @module Every code a problem may carry, and the one table of status numbers. */
import type { RefusalCode } from '../domain/refusal.ts'

/** What only this edge refuses. */
type HttpCode =
  | 'unauthenticated'
  | 'not-found'
  | 'method-not-allowed'
  | 'malformed-request'
  | 'unsupported-media-type'
  | 'unsupported-content-encoding'
  | 'body-missing'
  | 'body-incomplete'
  | 'body-too-large'
  | 'invalid-json'
  | 'invalid-body'
  | 'invalid-query'
  | 'invalid-header'
  | 'invalid-cursor'
  | 'cursor-gone'
  | 'beyond-log'
  | 'rate-limited'
  | 'too-many-streams'
  | 'not-ready'
  | 'index-building'
  | 'view-behind'
  | 'internal'

export type ProblemCode = RefusalCode | HttpCode

/**
 * 409 is what the run's state forbids and another try as it stands will not change; 412 is a precondition that the caller named;
 * 422 is a request that contradicts itself or what is registered. `budget-exceeded` is a 409 and no 429: waiting mends nothing,
 * a client that backs off and retries would never end.
 */
export const STATUS = {
  'run-not-found': 404,
  'run-exists': 422,
  'run-ended': 409,
  'run-taken-over': 409,
  'run-owned': 409,
  contradiction: 409,
  'stale-parent': 412,
  'parent-required': 422,
  'signature-invalid': 422,
  'signature-reused': 409,
  'manifest-mismatch': 409,
  'manifest-invalid': 422,
  'policy-invalid': 400,
  'redacted-name': 422,
  'redacted-signed': 422,
  'redaction-too-large': 413,
  'result-redacted': 409,
  'context-too-large': 413,
  'unknown-step': 422,
  'nothing-to-roll-back': 409,
  'fork-open': 409,
  'fork-exists': 422,
  'fork-not-found': 404,
  'branch-not-found': 404,
  'branch-received': 409,
  'fork-joined': 409,
  'fork-conflict': 409,
  'fork-failed': 409,
  'result-not-recorded': 409,
  'call-not-found': 404,
  'call-in-progress': 409,
  'call-in-doubt': 409,
  'call-key-reused': 422,
  'call-not-in-doubt': 409,
  'recursive-call': 409,
  compensating: 409,
  'not-compensating': 409,
  'already-compensated': 409,
  'stale-fence': 409,
  'already-settled': 409,
  'budget-exceeded': 409,
  'currency-mismatch': 422,
  'reservation-not-found': 404,
  'reservation-ended': 409,
  'approval-pending': 409,
  'approval-denied': 409,
  'approval-expired': 409,
  'approval-not-found': 404,
  'approval-mismatch': 422,
  'approval-used': 409,
  'approval-decided': 409,
  'approvals-full': 409,
  'approval-role-missing': 403,
  'self-approval': 403,
  'schema-invalid': 422,
  'wait-not-found': 404,
  'waits-full': 409,
  'signal-not-awaited': 404,
  'signal-invalid': 422,
  'signals-full': 409,
  'open-work': 409,
  'refusals-exhausted': 429,
  'idempotency-key-reused': 422,
  'idempotency-in-flight': 409,
  'revision-conflict': 412,
  'append-too-large': 413,
  'value-too-large': 413,
  'value-not-found': 404,
  contended: 503,
  overloaded: 503,
  'not-attempted': 424,
  'store-full': 507,
  'store-unavailable': 503,
  'store-went-back': 503,
  'agent-mismatch': 403,
  'run-mismatch': 403,
  'scope-missing': 403,
  unauthenticated: 401,
  'not-found': 404,
  'method-not-allowed': 405,
  'malformed-request': 400,
  'unsupported-media-type': 415,
  'unsupported-content-encoding': 415,
  'body-missing': 400,
  'body-incomplete': 400,
  'body-too-large': 413,
  'invalid-json': 400,
  'invalid-body': 422,
  'invalid-query': 400,
  'invalid-header': 400,
  'invalid-cursor': 400,
  'cursor-gone': 410,
  'beyond-log': 400,
  'rate-limited': 429,
  'too-many-streams': 429,
  'not-ready': 503,
  'index-building': 503,
  'view-behind': 503,
  'stream-damaged': 500,
  'log-stopped': 503,
  internal: 500,
} as const satisfies Record<ProblemCode, number>

export function isProblemCode(code: string): code is ProblemCode {
  return Object.hasOwn(STATUS, code)
}
