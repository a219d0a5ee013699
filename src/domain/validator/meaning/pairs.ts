/** @module A number and its unit in two members of one object: `{value: 1.5, unit: "h"}`, or `weight` with `weight_unit`. */
import { keyWords } from '../../../../projections/key-words.ts'
import { plainText } from '../../../../projections/plain-text.ts'
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import { placeKind } from './place-kind.ts'
import { isSameQuantity, quantityOf, readQuantity } from './quantities.ts'
import type { Quantity } from './units.ts'

const UNIT_KEYS: ReadonlySet<string> = new Set(['unit', 'units', 'uom', 'currency', 'ccy'])
/** What such a key ends with; most keys are told apart without being split into words. */
const UNIT_END = /(?:units?|uom|currency|ccy)[^a-z\d]*$/i
const VALUE_KEYS = ['value', 'amount', 'quantity', 'qty', 'magnitude', 'number', 'size', 'count']

export interface Pair {
  readonly valueKey: string
  readonly unitKey: string
}

export function isUnitKey(key: string): boolean {
  return UNIT_END.test(key) && UNIT_KEYS.has(keyWords(key).at(-1) ?? '')
}

/** The pairs of an object, by the keys of their members. */
export function pairsOf(object: JsonObject): readonly Pair[] {
  const pairs: Pair[] = []
  for (const unitKey of Object.keys(object)) {
    if (!isUnitKey(unitKey)) continue
    const words = keyWords(unitKey)
    const stem = unitKey.slice(0, unitKey.length - (words.at(-1)?.length ?? 0)).replace(/[_-]$/, '')
    const valueKey = stem === '' ? VALUE_KEYS.find((key) => Object.hasOwn(object, key)) : stem
    if (valueKey !== undefined && Object.hasOwn(object, valueKey)) pairs.push({ valueKey, unitKey })
  }
  return pairs
}

/** Keys of pairs that hold the same quantity in both objects, in different units. */
export function equalPairs(a: JsonObject, b: JsonObject): ReadonlySet<string> {
  const equal = new Set<string>()
  for (const pair of pairsOf(a)) {
    if (a[pair.unitKey] === b[pair.unitKey]) continue
    const [before, after] = [pairQuantity(a, pair), pairQuantity(b, pair)]
    if (before === undefined || after === undefined || !isSameQuantity(before, after)) continue
    equal.add(pair.valueKey)
    equal.add(pair.unitKey)
  }
  return equal
}

/** The quantity of an object that contains nothing else, or of a text. */
export function soleQuantity(value: Json): Quantity | undefined {
  if (typeof value === 'string') return readQuantity(plainText(value))
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const object = value as JsonObject
  const [pair] = Object.keys(object).length === 2 ? pairsOf(object) : []
  return pair === undefined ? undefined : pairQuantity(object, pair)
}

/** The quantity of a value under a key that may name a unit. */
export function quantityUnder(key: string, value: Json): Quantity | undefined {
  const { unit } = placeKind(key, false)
  return typeof value === 'number' && unit !== undefined ? { value, unit } : soleQuantity(value)
}

/** The first quantity in an object, which may have other members. */
export function heldQuantity(object: JsonObject): Quantity | undefined {
  const [pair] = pairsOf(object)
  return pair === undefined ? undefined : pairQuantity(object, pair)
}

function pairQuantity(object: JsonObject, { valueKey, unitKey }: Pair): Quantity | undefined {
  const [value, unit] = [own(object, valueKey), own(object, unitKey)]
  if (typeof unit !== 'string') return undefined
  if (typeof value === 'number') return quantityOf(value, plainText(unit))
  return typeof value === 'string' ? quantityOf(plainText(value), plainText(unit)) : undefined
}

function own(object: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined
}
