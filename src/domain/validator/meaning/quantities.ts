/** @module Quantities: `12 kg`, `$50.00`, `USD 50`, `2.3 million EUR`, 83.4 under `coverage_pct`. */
import { isNear, isSameNumber, readNumber } from './numbers.ts'
import { readUnit, type Unit } from './units.ts'

export interface Quantity {
  /** As written, in `unit`. */
  readonly value: number
  readonly unit: Unit
}

const TEXT_MAX_CHARS = 48
const NUMERIC = /^[-+]?\d/
const DIGIT = /[-+]?\d/
const NUMBER_FIRST = /^([-+]?\d[\d.,']*(?: \d{3}(?!\d))*(?:[.,]\d+)?) ?([^\d].*)$/
const UNIT_FIRST =
  /^([^\d+-]{1,16}?) ?([-+]?\d[\d.,']*(?: \d{3}(?!\d))*(?:[.,]\d+)?) ?(k|m|mn|bn|thousand|million|billion)?$/i

/** Undefined where a text is no number with a unit that is known. Takes a text that `plainText` made. */
export function readQuantity(text: string): Quantity | undefined {
  if (text.length > TEXT_MAX_CHARS) return undefined
  const numberFirst = NUMERIC.test(text) ? NUMBER_FIRST.exec(text) : null
  if (numberFirst !== null) return quantityOf(numberFirst[1] ?? '', numberFirst[2] ?? '')
  if (readUnit(text.slice(0, text.search(DIGIT)).trimEnd()) === undefined) return undefined
  const [, unit, number, scale] = UNIT_FIRST.exec(text) ?? []
  if (unit === undefined || number === undefined) return undefined
  return quantityOf(number, scale === undefined ? unit : `${scale} ${unit}`)
}

export function quantityOf(number: string | number, unitName: string): Quantity | undefined {
  const value = typeof number === 'number' ? number : readNumber(number)
  if (value === undefined) return undefined
  const unit = readUnit(unitName)
  return unit === undefined ? undefined : { value, unit }
}

export function isSameQuantity(a: Quantity, b: Quantity): boolean {
  if (a.unit.dimension !== b.unit.dimension) return false
  if (a.unit.factor === b.unit.factor && a.unit.offset === b.unit.offset) return isSameNumber(a.value, b.value)
  return isNear(baseValue(a), baseValue(b))
}

export function baseValue({ value, unit }: Quantity): number {
  return value * unit.factor + (unit.offset ?? 0)
}
