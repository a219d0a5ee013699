/** @module The refusals that the ledger expects: a stable code, one sentence on what is wrong and what to do, and evidence. */
import type { RefusalCode } from '../../schemas/error-code.ts'
import type { Json } from '../../schemas/json.ts'

export interface Refusal {
  readonly code: RefusalCode
  readonly detail: string
  /** JSON Pointer to the member of the request's body that is at fault, if it is one member. */
  readonly pointer?: string
  /** Milliseconds after which a retry makes sense, if known. */
  readonly retryAfterMs?: number
  /** Further members of the answer, for example expected and actual values, findings, or open work. */
  readonly evidence?: { readonly [name: string]: Json }
}

export function refusal(code: RefusalCode, detail: string, more: Omit<Refusal, 'code' | 'detail'> = {}): Refusal {
  return { code, detail, ...more }
}
