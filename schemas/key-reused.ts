/** @module The refusal of a call key that was used again for other arguments or by another tool, the same from the ledger and from a replay. */
import type { JsonObject } from './json.ts'

export interface KeyReused {
  readonly callId: string
  readonly expected: string
  readonly actual: string
  /** The tool of the call that has this key, if it is another tool. */
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
