/** @module What the key of a value says about how the value is read. */
import { keyWords } from '../../../../projections/key-words.ts'
import { isClockKey, isCounterKey } from './rising.ts'
import { isStateKey } from './states.ts'
import { readKeyUnit, readUnit, type Unit } from './units.ts'

export interface PlaceKind {
  readonly words: readonly string[]
  /** Strings are names of things: compared without case, never as numbers. */
  readonly isEntities: boolean
  /** Strings are codes: `3.10` is not `3.1`, `0042` not `42`. */
  readonly isCode: boolean
  /** A state, a clock or a counter: values under the key move on. */
  readonly isMoving: boolean
  /** The unit that the key ends in: `weight_kg`, `coverage_pct`. */
  readonly unit: Unit | undefined
}

const CODES: ReadonlySet<string> = new Set(
  (
    'id ids uuid no nr number numbers code codes ref refs reference version versions clause section article paragraph zip postcode phone tel ' +
    'mobile fax iban account serial sku isbn ean mrn firmware software revision rev edition hash digest commit sha build tag image model part docket release key name token'
  ).split(' '),
)
/** A unit of a single letter is more often something else. */
const UNIT_SUFFIX_MIN_CHARS = 2
/** A shorter key that reads like a unit is more often something else: `bar`, `min`. */
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
  const isMoving = isStateKey(words) || isCounterKey(words) || isClockKey(words)
  const kind = { words, isEntities, isMoving, isCode: isEntities || CODES.has(last), unit: unitOf(words, last) }
  if (known.size >= MEMO_MAX) known.clear()
  known.set(key, kind)
  return kind
}

function unitOf(words: readonly string[], last: string): Unit | undefined {
  // `litres`, `minutes`: the whole key.
  if (words.length < 2) return last.length >= UNIT_NAME_MIN_CHARS ? readUnit(last) : undefined
  if (last.length >= UNIT_SUFFIX_MIN_CHARS) return readKeyUnit(last)
  return TEMPERATURE.test(words.at(-2) ?? '') ? readUnit(last.toUpperCase()) : readUnit(last)
}
