/** @module Every refusal the ledger expects: a stable code, one sentence that says what is wrong and what to do, and its evidence. */
import type { Json } from '../../schemas/json.ts'

export type RefusalCode =
  | 'run-not-found'
  | 'run-exists'
  | 'run-ended'
  | 'run-taken-over'
  | 'run-owned'
  | 'contradiction'
  | 'stale-parent'
  | 'parent-required'
  | 'signature-invalid'
  | 'signature-reused'
  | 'manifest-mismatch'
  | 'manifest-invalid'
  | 'policy-invalid'
  | 'context-too-large'
  | 'unknown-step'
  | 'nothing-to-roll-back'
  | 'fork-open'
  | 'fork-exists'
  | 'fork-not-found'
  | 'branch-not-found'
  | 'branch-received'
  | 'fork-joined'
  | 'fork-conflict'
  | 'fork-failed'
  | 'result-not-recorded'
  | 'call-not-found'
  | 'call-in-progress'
  | 'call-in-doubt'
  | 'call-key-reused'
  | 'call-not-in-doubt'
  | 'recursive-call'
  | 'compensating'
  | 'not-compensating'
  | 'already-compensated'
  | 'stale-fence'
  | 'already-settled'
  | 'budget-exceeded'
  | 'currency-mismatch'
  | 'reservation-not-found'
  | 'reservation-ended'
  | 'approval-pending'
  | 'approval-denied'
  | 'approval-expired'
  | 'approval-not-found'
  | 'approval-mismatch'
  | 'approval-used'
  | 'approval-decided'
  | 'approval-role-missing'
  | 'self-approval'
  | 'schema-invalid'
  | 'wait-not-found'
  | 'waits-full'
  | 'signal-not-awaited'
  | 'signal-invalid'
  | 'signals-full'
  | 'open-work'
  | 'refusals-exhausted'
  | 'idempotency-key-reused'
  | 'idempotency-in-flight'
  | 'revision-conflict'
  | 'append-too-large'
  | 'value-too-large'
  | 'value-not-found'
  | 'contended'
  | 'overloaded'
  | 'not-attempted'
  | 'store-full'
  | 'store-unavailable'
  | 'stream-damaged'
  | 'agent-mismatch'
  | 'run-mismatch'
  | 'scope-missing'

export interface Refusal {
  readonly code: RefusalCode
  readonly detail: string
  /** JSON Pointer into the request's body, where one member is to blame. */
  readonly pointer?: string
  /** Where a fair time to ask again is known. */
  readonly retryAfterMs?: number
  /** Further members of the answer: expected and actual, findings, what is open. */
  readonly evidence?: { readonly [name: string]: Json }
}

export function refusal(code: RefusalCode, detail: string, more: Omit<Refusal, 'code' | 'detail'> = {}): Refusal {
  return { code, detail, ...more }
}
