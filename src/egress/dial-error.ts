/** @module The error for a guarded request that was refused, or whose response was not read to its end. */
import type { JsonObject } from '../../schemas/json.ts'

export type DialErrorCode =
  | 'invalid-allow'
  | 'address-refused'
  | 'redirect-refused'
  | 'response-too-large'
  | 'package-missing'

export class DialError extends Error {
  readonly code: DialErrorCode
  /** Details of the refusal, as plain JSON. */
  readonly evidence: JsonObject

  constructor(code: DialErrorCode, message: string, evidence: JsonObject = {}) {
    super(message)
    this.name = 'DialError'
    this.code = code
    this.evidence = evidence
  }
}
