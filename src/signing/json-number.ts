/** @module Tests whether a number in JSON text keeps its value as an IEEE 754 double (REC-14). */

/** A double needs at most this many significant digits to be told apart from its neighbours. */
const FRACTION_MAX_DIGITS = 17

/** Integers of at most this many digits are below 2^53. */
export const SAFE_DIGITS = 15

const ZERO = 0x30
const NINE = 0x39

/**
 * The reason why a valid JSON number token is refused; undefined if the number keeps its value.
 *
 * Refused: numbers that are not finite, -0, numbers that underflow to 0, an integer value that differs from the printed double, and a
 * fraction of more than 17 significant digits. Zeros before the first and after the last other digit are not significant: `1.0`, `0.10` and
 * `1E2` pass. Runs in time linear in the token's length.
 */
export function numberFault(token: string): string | undefined {
  const value = Number(token)
  if (!Number.isFinite(value)) return 'the number is too large for a double; send it as a string'

  const spelled = decimalOf(token)
  if (value === 0) {
    if (spelled.digits !== '') return 'the number is too small for a double; send it as a string'
    return token.startsWith('-') ? 'JSON tools do not preserve negative zero; send 0' : undefined
  }
  if (spelled.exponent < 0) {
    if (spelled.digits.length <= FRACTION_MAX_DIGITS) return undefined
    return `a fraction has at most ${FRACTION_MAX_DIGITS} significant digits; send it as a string`
  }
  const printed = decimalOf(String(value))
  if (printed.digits === spelled.digits && printed.exponent === spelled.exponent) return undefined
  return 'the integer is not exact as a double; send it as a string'
}

/** A decimal number without its sign, as digits (none for zero, no zero at either end) times a power of ten. */
interface Decimal {
  readonly digits: string
  readonly exponent: number
}

/** Uses loops instead of patterns: `/0+$/` takes quadratic time on many short runs of zeros. */
function decimalOf(token: string): Decimal {
  const unsigned = token.startsWith('-') ? token.slice(1) : token
  const e = exponentAt(unsigned)
  const mantissa = unsigned.slice(0, e)
  const dot = mantissa.indexOf('.')
  const all = dot < 0 ? mantissa : mantissa.slice(0, dot) + mantissa.slice(dot + 1)

  let start = 0
  while (all.charCodeAt(start) === ZERO) start++
  let end = all.length
  while (end > start && all.charCodeAt(end - 1) === ZERO) end--
  if (start === end) return { digits: '', exponent: 0 }

  const spelledExponent = e < unsigned.length ? Number(unsigned.slice(e + 1)) : 0
  const fractionDigits = dot < 0 ? 0 : mantissa.length - dot - 1
  return { digits: all.slice(start, end), exponent: spelledExponent - fractionDigits + (all.length - end) }
}

function exponentAt(token: string): number {
  const lower = token.indexOf('e')
  if (lower >= 0) return lower
  const upper = token.indexOf('E')
  return upper >= 0 ? upper : token.length
}

export function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE
}
