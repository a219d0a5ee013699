/** @module Compares scalars by meaning, and maps scalars of equal meaning to one text. */
import { plainLower, plainText } from '../../../../projections/plain-text.ts'
import { readTime, type TimeReading } from './dates.ts'
import { readNumberWord } from './durations.ts'
import { isNear, isSameNumber, numberText, readNumber } from './numbers.ts'
import type { PlaceKind } from './place-kind.ts'
import { baseValue, isAmountInDoubt, isSameQuantity, quantityOf, readQuantity } from './quantities.ts'
import type { Quantity } from './units.ts'

export type Scalar = string | number | boolean | null

export type Reading =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'number'; readonly value: number }
  | { readonly kind: 'quantity'; readonly quantity: Quantity }
  | { readonly kind: 'time'; readonly time: TimeReading }
  | { readonly kind: 'other'; readonly text: string }

const DIGIT = /\d/
const NUMERIC = /^[-+\d]/
/** Maximum length of a text that is read as a date or a quantity. */
const MEASURE_MAX_CHARS = 48
const MAIL = /^([^\s@]+)@([^\s@]+\.[^\s@]+)$/
const MAIL_MAX_CHARS = 254
/** A code printed in groups, as on a card or a letterhead. */
const GROUPS = /^[A-Za-z0-9]{1,8}(?: [A-Za-z0-9]{1,8})+$/
const GROUPED_DIGITS_MIN = 8
const CODE_MAX_CHARS = 64
/** A number with a unit that is not in the table; compared by unit and by digits without group separators. */
const MEASURE = /^([-+]?\d{1,3}(?:(?:,\d{3})+|(?: \d{3})+)|[-+]?\d+)(\.\d+)? ?([\p{L}°µ][\p{L}°µ/²³·]{0,11})$/u
/** What a boolean is written as. `NO` is the code of a country, and code takes the text `false` for true. */
const [YES, NO] = [new Set(['yes', 'Yes', 'YES']), new Set(['no', 'No'])]
const PHONE = /^\+\d[\d ()./-]{5,24}$/

export function isSameScalar(a: Scalar, b: Scalar, place: PlaceKind): boolean {
  if (a === b) return true
  if (typeof a === 'boolean' && typeof b === 'string') return (a ? YES : NO).has(b.trim())
  if (a === null || b === null || typeof a === 'boolean' || typeof b === 'boolean') return false
  if (typeof a === 'number' && typeof b === 'number') return isSameNumber(a, b)
  return isSameReading(readScalar(a, place), readScalar(b, place), place)
}

/** Equal for scalars of equal meaning, except for numbers at a rounding boundary. */
export function scalarText(value: Scalar, place: PlaceKind): string {
  const reading = readScalar(value, place)
  switch (reading.kind) {
    case 'text':
      return `"${reading.text}`
    case 'number':
      return `#${numberText(reading.value)}`
    case 'quantity':
      return `q${reading.quantity.unit.dimension} ${numberText(baseValue(reading.quantity))}`
    case 'time':
      return `@${reading.time.kind} ${reading.time.text}`
    case 'other':
      return reading.text
  }
}

export function readScalar(value: Scalar, place: PlaceKind): Reading {
  if (typeof value === 'number') return place.isCode ? { kind: 'text', text: `${value}` } : { kind: 'number', value }
  if (typeof value !== 'string') return { kind: 'other', text: `${value}` }
  const text = plainText(value)
  const read = place.isCode || text.length > MEASURE_MAX_CHARS ? undefined : readMeasure(text, place)
  return read ?? { kind: 'text', text: wordsText(text, place) }
}

/** Reads a measure; only texts that start like a date, a number or a unit are examined further. */
function readMeasure(text: string, { unit }: PlaceKind): Reading | undefined {
  const isNumeric = NUMERIC.test(text)
  if (!isNumeric && !DIGIT.test(text)) return readWords(text)
  if (isNumeric || text.includes(' ')) {
    const time = readTime(text)
    if (time !== undefined) return { kind: 'time', time }
  }
  const number = isNumeric ? readNumber(text) : undefined
  if (number !== undefined) {
    const quantity = unit !== undefined && isAmountInDoubt(text, unit) ? quantityOf(text, unit) : undefined
    return quantity === undefined ? { kind: 'number', value: number } : { kind: 'quantity', quantity }
  }
  const quantity = readQuantity(text)
  return quantity === undefined ? undefined : { kind: 'quantity', quantity }
}

/** Reads `six`, `two weeks`. */
function readWords(text: string): Reading | undefined {
  const word = readNumberWord(text)
  if (word === undefined) return undefined
  if (word.rest === '') return { kind: 'number', value: word.value }
  const quantity = quantityOf(word.value, word.rest)
  return quantity === undefined ? undefined : { kind: 'quantity', quantity }
}

function isSameReading(a: Reading, b: Reading, place: PlaceKind): boolean {
  if (a.kind === 'number' && b.kind === 'number') return isSameNumber(a.value, b.value)
  if (a.kind === 'quantity' && b.kind === 'quantity') return isSameQuantity(a.quantity, b.quantity)
  if (a.kind === 'number' && b.kind === 'quantity') return isNumberIn(a.value, b.quantity, { place, mayGain: true })
  if (a.kind === 'quantity' && b.kind === 'number') return isNumberIn(b.value, a.quantity, { place, mayGain: false })
  if (a.kind === 'time' && b.kind === 'time') return a.time.kind === b.time.kind && a.time.text === b.time.text
  return a.kind === 'text' && b.kind === 'text' && a.text === b.text
}

/** Whether a number without a unit equals the quantity: by the unit of its key, as a ratio, or, with `mayGain`, as a number that has gained a unit. */
function isNumberIn(value: number, quantity: Quantity, by: { place: PlaceKind; mayGain: boolean }): boolean {
  const { unit } = by.place
  if (unit !== undefined) return isSameQuantity({ value, unit }, quantity)
  if (quantity.unit.dimension !== 'ratio') return by.mayGain && isSameNumber(value, quantity.value)
  return (
    isNear(value, baseValue(quantity)) || (by.mayGain && Math.abs(value) > 1 && isSameNumber(value, quantity.value))
  )
}

function wordsText(text: string, place: PlaceKind): string {
  const code = ungrouped(text)
  if (code !== undefined) return code.toLowerCase()
  if (place.isEntities) return plainLower(text)
  const measure = text.length <= MEASURE_MAX_CHARS && NUMERIC.test(text) ? MEASURE.exec(text) : null
  if (measure !== null) return `${measure[1]?.replace(/[, ]/g, '')}${measure[2] ?? ''} ${measure[3]}`
  const mail = text.length <= MAIL_MAX_CHARS ? MAIL.exec(text) : null
  const folded = mail === null ? text : `${mail[1]}@${mail[2]?.toLowerCase()}`
  return isUniform(folded) ? folded.toLowerCase() : folded
}

function ungrouped(text: string): string | undefined {
  if (text.length > CODE_MAX_CHARS) return undefined
  if (text.startsWith('+') && PHONE.test(text)) return text.replace(/[^\d+]/g, '')
  const isGrouped = text.includes(' ') && GROUPS.test(text) && isUniform(text)
  return isGrouped && text.replace(/\D/g, '').length >= GROUPED_DIGITS_MIN ? text.replaceAll(' ', '') : undefined
}

/** Whether the case has no meaning: lower case, upper case, or capitalised words. The case of `McCoy` and `aB3x` has a meaning. */
function isUniform(text: string): boolean {
  const lower = text.toLowerCase()
  if (text === lower || text === text.toUpperCase()) return true
  const capital = lower.charAt(0).toUpperCase() + lower.slice(1)
  return text === capital || text === lower.replace(/(?<=^| )\p{Ll}/gu, (letter) => letter.toUpperCase())
}
