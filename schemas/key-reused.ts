/** @module A key that was used again for other arguments, or by another tool: one refusal, whether the ledger answers or the record does. */
import type { JsonObject } from './json.ts'

export interface KeyReused {
  readonly callId: string
  readonly expected: string
  readonly actual: string
  /** Where it names a call of another tool: that tool. */
  readonly ofTool?: string | undefined
}

export function keyReused({ callId, expected, actual, ofTool }: KeyReused) {
  const detail =
    ofTool === undefined
      ? 'this key names a call with other arguments; a new call needs a new key'
      : `this key names a call of ${ofTool}`
  const evidence: JsonObject = { callId, expected, actual }
  return { code: 'call-key-reused', detail, evidence } as const
}
