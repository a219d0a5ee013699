/** @module Recognises lists whose order is meaningful. */
import { keyWords } from '../../../../projections/key-words.ts'
import { namesOrder } from '../../../../projections/ordered-keys.ts'
import { isJsonObject, type Json } from '../../../../schemas/json.ts'
import type { PlaceKind } from '../meaning/place-kind.ts'

/** Keys with a member's time or position; with such a key, the index of the member is not meaningful. */
const PLACED_BY: ReadonlySet<string> = new Set(
  'at date time timestamp on due start starts order index seq no step position rank priority'.split(' '),
)

/** Keys of lists whose texts follow one another in time. */
const SCHEDULES: ReadonlySet<string> = new Set('timeline schedule programme program lineup'.split(' '))

/** Keys of lists in which a later member applies only if the earlier ones do not decide, of the columns that rows refer to by position, and of what was done. */
const PRECEDENCES: ReadonlySet<string> = new Set(
  'tiebreak tiebreaks tiebreaker tiebreakers breakers precedence fallback fallbacks failover columns trajectory'.split(
    ' ',
  ),
)

/** Maximum nesting of coordinates (positions, rings, polygons, multipolygons); deeper lists of numbers are something else. */
const NUMBERS_MAX_DEPTH = 4

/** Whether the order counts: in lists of numbers and nested ones, in rows of numbers and texts, and under keys that name an order. */
export function isOrdered(list: readonly Json[], kind: PlaceKind): boolean {
  const isSchedule = SCHEDULES.has(kind.words.at(-1) ?? '')
  if (isSchedule && list.length > 0 && list.every((member) => typeof member === 'string')) return true
  if (namesOrder(kind.words) || PRECEDENCES.has(kind.words.at(-1) ?? '')) return !list.some(saysItsPlace)
  return !kind.isCode && (isNumbers(list, NUMBERS_MAX_DEPTH) || isRow(list))
}

/** Whether the list mixes numbers and texts, so that the index gives a member its meaning, as in `["Ada", 3, 1]`. */
function isRow(list: readonly Json[]): boolean {
  let numbers = 0
  for (const member of list) {
    if (typeof member === 'number') numbers += 1
    else if (typeof member !== 'string') return false
  }
  return numbers > 0 && numbers < list.length
}

function isNumbers(list: readonly Json[], depth: number): boolean {
  return (
    list.length > 0 &&
    list.every(
      (member) => typeof member === 'number' || (depth > 1 && Array.isArray(member) && isNumbers(member, depth - 1)),
    )
  )
}

function saysItsPlace(member: Json): boolean {
  return isJsonObject(member) && Object.keys(member).some((key) => PLACED_BY.has(keyWords(key).at(-1) ?? ''))
}

/** Whether the members of `before` are in `after` in the same order, possibly with others between them. */
export function keepsOrder(
  before: readonly Json[],
  after: readonly Json[],
  isSame: (a: Json, b: Json) => boolean,
): boolean {
  let place = 0
  for (const member of before) {
    while (place < after.length && !isSame(member, after[place] as Json)) place += 1
    if (place === after.length) return false
    place += 1
  }
  return true
}
