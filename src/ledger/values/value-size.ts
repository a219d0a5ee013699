/** @module Estimates the size of a value's canonical text, without writing the text of the many small values. */
import { isJsonObject, type Json } from '../../../schemas/json.ts'

/** Maximum bytes of a character in a string: `\\u0000`. */
const CHAR_BYTES = 6
const NUMBER_BYTES = 25
const AROUND_BYTES = 3

/** False only if the canonical text has at most `limit` bytes. Stops as soon as that is not certain. */
export function mayExceed(value: Json, limit: number): boolean {
  return spend(value, limit) < 0
}

/** The remaining bytes; negative once they do not suffice. */
function spend(value: Json, remaining: number): number {
  if (typeof value === 'string') return remaining - CHAR_BYTES * value.length - AROUND_BYTES
  if (typeof value !== 'object' || value === null) return remaining - NUMBER_BYTES
  let rest = remaining - AROUND_BYTES
  if (isJsonObject(value)) {
    for (const key of Object.keys(value)) {
      rest = spend(value[key] as Json, rest - CHAR_BYTES * key.length - AROUND_BYTES)
      if (rest < 0) return rest
    }
    return rest
  }
  for (const member of value as readonly Json[]) {
    rest = spend(member, rest - 1)
    if (rest < 0) return rest
  }
  return rest
}
