/** @module Reads quantities: `12 kg`, `$50.00`, `USD 50`, `2.3 million EUR`, `1 h 30 min`, 83.4 under `coverage_pct`. */
import { readIsoDuration, readParts } from './durations.ts'
import { isNear, isSameNumber, readNumber } from './numbers.ts'
import { isCurrency, type Quantity, readUnit, type Unit } from './units.ts'

const TEXT_MAX_CHARS = 48
const NUMERIC = /^[-+]?\d/
const DIGIT = /[-+]?\d/
const NUMBER_FIRST = /^([-+]?\d[\d.,']*(?: \d{3}(?!\d))*(?:[.,]\d+)?) ?([^\d].*)$/
const DOT_AND_THREE = /^[-+]?[1-9]\d{0,2}\.\d{3}$/
const UNIT_FIRST =
  /^([^\d+-]{1,16}?) ?([-+]?\d[\d.,']*(?: \d{3}(?!\d))*(?:[.,]\d+)?) ?(k|m|mn|bn|thousand|million|billion)?$/i

/** Undefined if the text is not a number with a known unit. Expects a text returned by `plainText`. */
export function readQuantity(text: string): Quantity | undefined {
  if (text.length > TEXT_MAX_CHARS) return undefined
  const numberFirst = NUMERIC.test(text) ? NUMBER_FIRST.exec(text) : null
  if (numberFirst !== null) return quantityOf(numberFirst[1] ?? '', numberFirst[2] ?? '') ?? readParts(text)
  const duration = readIsoDuration(text)
  if (duration !== undefined) return duration
  if (readUnit(text.slice(0, text.search(DIGIT)).trimEnd()) === undefined) return undefined
  const [, unit, number, scale] = UNIT_FIRST.exec(text) ?? []
  if (unit === undefined || number === undefined) return undefined
  return quantityOf(number, scale === undefined ? unit : `${scale} ${unit}`)
}

export function quantityOf(number: string | number, named: string | Unit): Quantity | undefined {
  const value = typeof number === 'number' ? number : readNumber(number)
  if (value === undefined) return undefined
  const unit = typeof named === 'string' ? readUnit(named) : named
  if (unit === undefined) return undefined
  if (typeof number === 'number' || !isAmountInDoubt(number, unit)) return { value, unit }
  const thousands = Math.round(1_000 * value)
  // Thousandths of an amount are not written with a trailing zero, so the dot separates thousands.
  return number.endsWith('0') ? { value: thousands, unit } : { value, unit, otherwise: thousands }
}

/** Whether the amount has two readings: `1.200 EUR` may be twelve hundred or 1.2. */
export function isAmountInDoubt(number: string, unit: Unit): boolean {
  return isCurrency(unit) && DOT_AND_THREE.test(number)
}

/** Whether any reading of `a` equals any reading of `b`. */
export function isSameQuantity(a: Quantity, b: Quantity): boolean {
  if (a.unit.dimension !== b.unit.dimension) return false
  return valuesOf(a).some((x) => valuesOf(b).some((y) => isSameValue({ ...a, value: x }, { ...b, value: y })))
}

function valuesOf({ value, otherwise }: Quantity): readonly number[] {
  return otherwise === undefined ? [value] : [value, otherwise]
}

function isSameValue(a: Quantity, b: Quantity): boolean {
  if (a.unit.factor === b.unit.factor && a.unit.offset === b.unit.offset) return isSameNumber(a.value, b.value)
  return isNear(baseValue(a), baseValue(b))
}

export function baseValue({ value, unit }: Quantity): number {
  return value * unit.factor + (unit.offset ?? 0)
}
