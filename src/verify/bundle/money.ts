/** @module Sums of money. */

const SCALE = 10n ** 9n

/** Exact: amounts are decimal strings of up to nine decimals. */
export function addMoney(a: string, b: string): string {
  if (b === '0') return a
  const sum = nanoOf(a) + nanoOf(b)
  const size = sum < 0n ? -sum : sum
  const fraction = (size % SCALE).toString().padStart(9, '0').replace(/0+$/, '')
  return `${sum < 0n ? '-' : ''}${size / SCALE}${fraction === '' ? '' : `.${fraction}`}`
}

function nanoOf(amount: string): bigint {
  const [whole = '0', fraction = ''] = amount.replace(/^-/, '').split('.')
  const size = BigInt(whole) * SCALE + BigInt(fraction.padEnd(9, '0'))
  return amount.startsWith('-') ? -size : size
}

export const negative = (amount: string): string =>
  amount.startsWith('-') ? amount.slice(1) : nanoOf(amount) === 0n ? '0' : `-${amount}`
