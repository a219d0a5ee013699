/** @module Every refusal the ledger expects: a stable code, one sentence that says what is wrong and what to do, and its evidence. */
import type { RefusalCode } from '../../schemas/error-code.ts'
import type { Json } from '../../schemas/json.ts'

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
