/** @module Numbers: as texts in the usual notations, and which of them are the same but for the noise of floating point. */

const TEXT_MAX_CHARS = 32
/** More digits than a double holds: such a text compares as a text. */
const DIGITS_MAX = 15
const NOISE = 1e-9

const PLAIN = /^[-+]?(?:0|[1-9]\d*)(?:\.\d+)?$/
const COMMA_GROUPS = /^[-+]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?$/
/** As in India: thousands, and groups of two above them. */
const LAKH_GROUPS = /^[-+]?[1-9]\d?(?:,\d{2})+,\d{3}(?:\.\d+)?$/
const OTHER_GROUPS = /^[-+]?[1-9]\d{0,2}(?:[ ']\d{3})+(?:[.,]\d+)?$/
const DOT_GROUPS = /^[-+]?[1-9]\d{0,2}(?:(?:\.\d{3})+,\d+|(?:\.\d{3}){2,})$/
const DECIMAL_COMMA = /^[-+]?(?:0|[1-9]\d*),\d{1,2}$/

/** `1,200.50`, `12,34,567`, `1 200,5`, `1.200,50`, `12,5`. Leading zeros make a code, no number. Takes a text that `plainText` made. */
export function readNumber(text: string): number | undefined {
  if (text.length > TEXT_MAX_CHARS) return undefined
  const plain = plainForm(text)
  if (plain === undefined || plain.replace(/\D/g, '').length > DIGITS_MAX) return undefined
  return Number(plain)
}

/** One mark with three digits behind it: thousands to some, thousandths to others. */
const EITHER_WAY = /^[-+]?[1-9]\d{0,2}[.,]\d{3}$/

/** As `readNumber`, of texts that are the same number to every reader. */
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

/** Whole numbers and hundredths are exact: a cent counts in any sum. */
export function isSameNumber(a: number, b: number): boolean {
  if (a === b) return true
  return !(isHundredths(a) && isHundredths(b)) && isNear(a, b)
}

/** Within the noise that arithmetic leaves. */
export function isNear(a: number, b: number): boolean {
  return Math.abs(a - b) <= NOISE * Math.max(Math.abs(a), Math.abs(b))
}

function isHundredths(value: number): boolean {
  return Number.isInteger(value) || Number(value.toFixed(2)) === value
}

/** One text for numbers that differ by noise alone, but for those on the edge of a rounding. */
export function numberText(value: number): string {
  return isHundredths(value) ? `${value}` : `${Number(value.toPrecision(10))}`
}
