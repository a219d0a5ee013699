/** @module Sums, differences and products of numbers as they are written, in decimal: `0.1 + 0.2` is `0.3`. */

/** Scaled to a whole number, a result below this is off by less than half a unit after its rounding, so that the nearest whole number is the exact one. */
const EXACT_MAX = 2 ** 49
/** More digits than `toFixed` gives. */
const DECIMALS_MAX = 100

/** The exact result; undefined if a double cannot hold all its digits. */
export function sumInDecimal(a: number, b: number): number | undefined {
  return exact(a + b, Math.max(decimalsOf(a), decimalsOf(b)), [a, b])
}

export function productInDecimal(a: number, b: number): number | undefined {
  return exact(a * b, decimalsOf(a) + decimalsOf(b), [])
}

/** Digits after the point; 11 in `1e-11`. */
function decimalsOf(value: number): number {
  const [digits = '', exponent = '0'] = String(value).split('e')
  const [, behind = ''] = digits.split('.')
  return Math.max(0, behind.length - Number(exponent))
}

/** `terms`: numbers that may be larger than their sum. */
function exact(result: number, decimals: number, terms: readonly number[]): number | undefined {
  const largest = Math.max(...[result, ...terms].map(Math.abs))
  if (decimals > DECIMALS_MAX || !(largest * 10 ** decimals <= EXACT_MAX)) return undefined
  return Number(result.toFixed(decimals))
}
