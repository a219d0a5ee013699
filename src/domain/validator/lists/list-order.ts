/** @module Lists whose order says something. */
import { keyWords } from '../../../../projections/key-words.ts'
import { namesOrder } from '../../../../projections/ordered-keys.ts'
import { isJsonObject, type Json } from '../../../../schemas/json.ts'
import type { PlaceKind } from '../meaning/place-kind.ts'
import { isSameScalar, type Scalar } from '../meaning/scalars.ts'

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

/** Numbers stand in a list for their places; a key may name an order as well. */
export function isOrdered(list: readonly Json[], kind: PlaceKind): boolean {
  const isSchedule = SCHEDULES.has(kind.words.at(-1) ?? '')
  if (isSchedule && list.length > 0 && list.every((member) => typeof member === 'string')) return true
  if (namesOrder(kind.words) || PRECEDENCES.has(kind.words.at(-1) ?? '')) return !list.some(saysItsPlace)
  return !kind.isCode && list.length > 0 && list.every((member) => typeof member === 'number')
}

function saysItsPlace(member: Json): boolean {
  return isJsonObject(member) && Object.keys(member).some((key) => PLACED_BY.has(keyWords(key).at(-1) ?? ''))
}

/** Whether the scalars of `before` stand in `after` in the same order, whatever stands between them. */
export function keepsOrder(before: readonly Json[], after: readonly Json[], kind: PlaceKind): boolean {
  let place = 0
  for (const member of before) {
    while (place < after.length && !isSame(member, after[place] as Json, kind)) place += 1
    if (place === after.length) return false
    place += 1
  }
  return true
}

function isSame(a: Json, b: Json, kind: PlaceKind): boolean {
  const isScalar = (value: Json): value is Scalar => typeof value !== 'object' || value === null
  return isScalar(a) && isScalar(b) && isSameScalar(a, b, kind)
}
