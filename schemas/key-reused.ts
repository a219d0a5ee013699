/** @module A key that was used again for other arguments: one refusal, whether the ledger answers or the record does. */
import type { JsonObject } from './json.ts'

export interface KeyReused {
  readonly callId: string
  readonly expected: string
  readonly actual: string
}

export function keyReused({ callId, expected, actual }: KeyReused) {
  const detail = 'this key names a call with other arguments; a new call needs a new key'
  const evidence: JsonObject = { callId, expected, actual }
  return { code: 'call-key-reused', detail, evidence } as const
}
