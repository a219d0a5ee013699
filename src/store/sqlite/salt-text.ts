/** @module Reads salts from the driver as hexadecimal digits: creating a native buffer for sixteen bytes takes a quarter of the time of the whole row. */

/** SQL expression for the digits; null if the column does not hold a blob. */
export function saltText(column: string): string {
  return `CASE typeof(${column}) WHEN 'blob' THEN hex(${column}) END`
}

const DIGIT_0 = 48
const DIGIT_9 = 57
const BEFORE_A = 55
const BITS_OF_DIGIT = 4

/** Decodes digits that SQLite wrote. */
export function saltBytes(digits: string): Uint8Array {
  const bytes = new Uint8Array(digits.length >> 1)
  for (let at = 0; at < bytes.length; at += 1)
    bytes[at] = (digitAt(digits, 2 * at) << BITS_OF_DIGIT) | digitAt(digits, 2 * at + 1)
  return bytes
}

/** SQLite writes uppercase A to F. */
function digitAt(digits: string, at: number): number {
  const code = digits.charCodeAt(at)
  return code <= DIGIT_9 ? code - DIGIT_0 : code - BEFORE_A
}
