/** @module How a value is to be read, according to its key. */
import { keyWords } from '../../../../projections/key-words.ts'
import { isClockKey, isCounterKey } from './rising.ts'
import { isStateKey } from './states.ts'
import { readKeyUnit, readUnit, type Unit } from './units.ts'

export interface PlaceKind {
  readonly words: readonly string[]
  /** Strings are names: compared case-insensitively, and never read as numbers. */
  readonly isEntities: boolean
  /** Strings are codes: `3.10` differs from `3.1`, and `0042` from `42`. */
  readonly isCode: boolean
  /** The key is that of a state, a clock or a counter, whose values move forward. */
  readonly isMoving: boolean
  /** The unit at the end of the key: `weight_kg`, `coverage_pct`. */
  readonly unit: Unit | undefined
}

const CODES: ReadonlySet<string> = new Set(
  (
    'id ids uuid no nr number numbers code codes ref refs reference version versions clause section article paragraph zip postcode phone tel ' +
    'mobile fax iban account serial sku isbn ean mrn firmware software revision rev edition hash digest commit sha build tag image model part docket release key name token'
  ).split(' '),
)
/** Minimum length of a unit at the end of a key; a single letter usually has another meaning. */
const UNIT_SUFFIX_MIN_CHARS = 2
/** Minimum length of a key that is a unit as a whole; shorter ones usually have another meaning: `bar`, `min`. */
const UNIT_NAME_MIN_CHARS = 5
const TEMPERATURE = /^temp(?:erature)?$/

const memo = new Map<string, PlaceKind>()
const entityMemo = new Map<string, PlaceKind>()
const MEMO_MAX = 16_384

export function placeKind(key: string, isEntities: boolean): PlaceKind {
  const known = isEntities ? entityMemo : memo
  const made = known.get(key)
  if (made !== undefined) return made
  const words = keyWords(key)
  const last = words.at(-1) ?? ''
  const isCounter = isCounterKey(words)
  const isMoving = isCounter || isStateKey(words) || isClockKey(words)
  // `retry_no` counts, `order_no` is a code.
  const isCode = isEntities || (CODES.has(last) && !isCounter)
  const kind = { words, isEntities, isMoving, isCode, unit: unitOf(words, last) }
  if (known.size >= MEMO_MAX) known.clear()
  known.set(key, kind)
  return kind
}

function unitOf(words: readonly string[], last: string): Unit | undefined {
  // The whole key is a unit: `litres`, `minutes`.
  if (words.length < 2) return last.length >= UNIT_NAME_MIN_CHARS ? readUnit(last) : undefined
  if (last === '2' || last === '3') return words.length > 2 ? readUnit(`${words.at(-2)}${last}`) : undefined
  if (last.length >= UNIT_SUFFIX_MIN_CHARS) return readKeyUnit(last)
  return TEMPERATURE.test(words.at(-2) ?? '') ? readUnit(last.toUpperCase()) : readUnit(last)
}
