/** @module Lists whose order says something. */
import { keyWords } from '../../../../projections/key-words.ts'
import { namesOrder } from '../../../../projections/ordered-keys.ts'
import { isJsonObject, type Json } from '../../../../schemas/json.ts'
import type { PlaceKind } from '../meaning/place-kind.ts'

/** What says of a member when or where it comes: then its place in the list need not. */
const PLACED_BY: ReadonlySet<string> = new Set(
  'at date time timestamp on due start starts order index seq no step position rank priority'.split(' '),
)

/** What comes one after the other, where the members say it by nothing but their places. */
const SCHEDULES: ReadonlySet<string> = new Set('timeline schedule programme program lineup'.split(' '))

/** What is tried or asked first, and what only where that does not decide. */
const PRECEDENCES: ReadonlySet<string> = new Set(
  'tiebreak tiebreaks tiebreaker tiebreakers breakers precedence fallback fallbacks failover'.split(' '),
)

/** Positions, rings, polygons, and several of them: deeper lists of numbers are nobody's coordinates. */
const NUMBERS_MAX_DEPTH = 4

/** Numbers stand in a list for their places, rows of them as well, and beside texts they make a row of a table; a key may name an order, too. */
export function isOrdered(list: readonly Json[], kind: PlaceKind): boolean {
  const isSchedule = SCHEDULES.has(kind.words.at(-1) ?? '')
  if (isSchedule && list.length > 0 && list.every((member) => typeof member === 'string')) return true
  if (namesOrder(kind.words) || PRECEDENCES.has(kind.words.at(-1) ?? '')) return !list.some(saysItsPlace)
  return !kind.isCode && (isNumbers(list, NUMBERS_MAX_DEPTH) || isRow(list))
}

/** Numbers and texts: what a member says hangs on its place, as in `["Ada", 3, 1]`. */
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

/** Whether the members of `before` stand in `after` in the same order, whatever stands between them. */
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
