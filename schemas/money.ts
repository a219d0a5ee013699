/** @module Money as an integer count of 1e-9 units internally and as a decimal string externally; never a float. */

const DECIMALS = 9
/** Number of 1e-9 units in one unit. */
export const MONEY_SCALE = 10n ** BigInt(DECIMALS)
/** The largest amount in JSON, of 18 digits; the writer refuses a larger sum. */
export const MONEY_MAX_NANO = 10n ** 18n - 1n

/** The number of 1e-9 units in a decimal string such as `2.50`. The caller has checked the form (`Money`). */
export function toNano(amount: string): bigint {
  const [whole = '0', fraction = ''] = amount.split('.')
  return BigInt(whole) * MONEY_SCALE + BigInt(fraction.padEnd(DECIMALS, '0'))
}

/** Shortest decimal string of a number of 1e-9 units. */
export function fromNano(nano: bigint): string {
  const sign = nano < 0n ? '-' : ''
  const size = nano < 0n ? -nano : nano
  const fraction = (size % MONEY_SCALE).toString().padStart(DECIMALS, '0').replace(/0+$/, '')
  return `${sign}${size / MONEY_SCALE}${fraction === '' ? '' : `.${fraction}`}`
}

export function addMoney(a: string, b: string): string {
  if (b === '0') return a
  return fromNano(signedNano(a) + signedNano(b))
}

export function subtractMoney(a: string, b: string): string {
  return b === '0' ? a : fromNano(signedNano(a) - signedNano(b))
}

function signedNano(amount: string): bigint {
  return amount.startsWith('-') ? -toNano(amount.slice(1)) : toNano(amount)
}
