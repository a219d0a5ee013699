/** @module The number rule of REC-14, once more and slowly: exact arithmetic with big integers. */

/** True where a token of JSON's number grammar is to be refused. */
export function decimalFault(token: string): boolean {
  const value = Number(token)
  if (!Number.isFinite(value) || Object.is(value, -0)) return true
  const spelled = exact(token)
  if (value === 0) return spelled.units !== 0n
  const scale = 10n ** BigInt(-Math.min(0, spelled.power))
  const units = spelled.units * 10n ** BigInt(Math.max(0, spelled.power))
  if (units % scale === 0n) return units / scale !== integer(String(value))
  return String(spelled.units).replace('-', '').replace(/0+$/, '').length > 17
}

interface Exact {
  readonly units: bigint
  readonly power: number
}

function exact(token: string): Exact {
  const [mantissa = '', exponent = '0'] = token.toLowerCase().split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  return { units: BigInt(whole + fraction), power: Number(exponent) - fraction.length }
}

function integer(printed: string): bigint | undefined {
  const { units, power } = exact(printed)
  return power >= 0 ? units * 10n ** BigInt(power) : undefined
}
