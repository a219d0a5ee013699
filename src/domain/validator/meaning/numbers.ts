/** @module Numbers: reads them from texts in the usual notations, and compares them up to floating-point noise. */

const TEXT_MAX_CHARS = 32
/** Maximum number of digits a double holds exactly; a text with more is compared as a text. */
const DIGITS_MAX = 15
const NOISE = 1e-9

const PLAIN = /^[-+]?(?:0|[1-9]\d*)(?:\.\d+)?$/
const COMMA_GROUPS = /^[-+]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?$/
/** Indian grouping: thousands, then groups of two digits. */
const LAKH_GROUPS = /^[-+]?[1-9]\d?(?:,\d{2})+,\d{3}(?:\.\d+)?$/
const OTHER_GROUPS = /^[-+]?[1-9]\d{0,2}(?:[ ']\d{3})+(?:[.,]\d+)?$/
const DOT_GROUPS = /^[-+]?[1-9]\d{0,2}(?:(?:\.\d{3})+,\d+|(?:\.\d{3}){2,})$/
const DECIMAL_COMMA = /^[-+]?(?:0|[1-9]\d*),\d{1,2}$/

/** Reads `1,200.50`, `12,34,567`, `1 200,5`, `1.200,50`, `12,5`. A text with leading zeros is a code, not a number. Expects a text returned by `plainText`. */
export function readNumber(text: string): number | undefined {
  if (text.length > TEXT_MAX_CHARS) return undefined
  const plain = plainForm(text)
  if (plain === undefined || plain.replace(/\D/g, '').length > DIGITS_MAX) return undefined
  return Number(plain)
}

/** One separator before three digits: a thousands separator in some notations, a decimal mark in others. */
const EITHER_WAY = /^[-+]?[1-9]\d{0,2}[.,]\d{3}$/

/** Like `readNumber`, but undefined for texts with two readings. */
export function readCertainNumber(text: string): number | undefined {
  return EITHER_WAY.test(text) ? undefined : readNumber(text)
}

function plainForm(text: string): string | undefined {
  if (PLAIN.test(text)) return text
  if (COMMA_GROUPS.test(text) || LAKH_GROUPS.test(text)) return text.replaceAll(',', '')
  if (OTHER_GROUPS.test(text)) return text.replace(/[ ']/g, '').replace(',', '.')
  if (DOT_GROUPS.test(text)) return text.replaceAll('.', '').replace(',', '.')
  return DECIMAL_COMMA.test(text) ? text.replace(',', '.') : undefined
}

/** Whole numbers and hundredths are compared exactly, because a cent counts in any sum. */
export function isSameNumber(a: number, b: number): boolean {
  if (a === b) return true
  return !(isHundredths(a) && isHundredths(b)) && isNear(a, b)
}

/** Whether two numbers are equal up to the noise of floating-point arithmetic. */
export function isNear(a: number, b: number): boolean {
  return Math.abs(a - b) <= NOISE * Math.max(Math.abs(a), Math.abs(b))
}

function isHundredths(value: number): boolean {
  return Number.isInteger(value) || Number(value.toFixed(2)) === value
}

/** The same text for numbers that differ by noise alone, except at a rounding boundary. */
export function numberText(value: number): string {
  return isHundredths(value) ? `${value}` : `${Number(value.toPrecision(10))}`
}
