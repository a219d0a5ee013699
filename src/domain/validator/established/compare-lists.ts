/** @module Compares two lists: members are matched, members without a match are gone, and a meaningful order must be kept. */
import { isEqual, isJsonObject, type Json } from '../../../../schemas/json.ts'
import type { Yielding } from '../../yielding.ts'
import { isOrdered, keepsOrder } from '../lists/list-order.ts'
import { matchObjects, type ObjectMatch } from '../lists/match-objects.ts'
import { isRepeatable, matchScalars, type ScalarMatch } from '../lists/match-scalars.ts'
import type { PlaceKind } from '../meaning/place-kind.ts'
import { isSameScalar, type Scalar } from '../meaning/scalars.ts'
import { type Signatures, signatureOf } from '../meaning/signature.ts'
import { rulesBelow } from './place-rules.ts'
import { found, type Here, removed, type Walk } from './walk.ts'

type Lists = readonly [readonly Json[], readonly Json[]]

/** Steps per member matched, and per pair compared. */
const MEMBER_STEPS = 2
const PAIR_STEPS = 10
/** Maximum depth for checking equality first; below it, nested lists would be read once for each enclosing list. */
const EQUALITY_MAX_DEPTH = 8

export function* compareLists(walk: Walk, lists: Lists, here: Here): Yielding<void> {
  const isShallow = walk.place.length <= EQUALITY_MAX_DEPTH
  if (isShallow && isEqual(lists[0], lists[1])) return
  const declared = here.rules.list
  const order = declared === undefined ? isOrdered(lists[0], here.kind) : declared === 'sequence'
  const ordered = order ? yield* scalarOrder(walk, lists, here) : undefined
  if (ordered === 'settled') return

  const [before, after] = lists
  walk.pauses.count(MEMBER_STEPS * (before.length + after.length))
  if (walk.pauses.due()) yield
  const [scalars, objects] = yield* counterparts(walk, lists, { ...here, ordered })
  const gained = scalars === undefined ? [] : yield* compareLeftovers(walk, lists, here, scalars)
  for (const [i, j] of objects.pairs) {
    walk.pauses.count(PAIR_STEPS)
    if (walk.pauses.due()) yield
    if (!isShallow || !isEqual(before[i] as Json, after[j] as Json)) yield* compareAt(walk, lists, [i, j], here)
  }
  for (const i of objects.lost) lostAt(walk, before, i, here)
  for (const place of objects.gained) if (scalars?.promoted.has(place) !== true) gained.push(place)
  for (const place of gained.sort((a, b) => a - b)) gainedAt(walk, after, place)
  for (const { first, second } of objects.duplicates) duplicateAt(walk, after, [first, second], here)
  if (order) checkObjectOrder(walk, lists, objects.pairs, here)
}

function* counterparts(
  { known }: Walk,
  [before, after]: Lists,
  { key, kind, rules, ordered }: Here & { readonly ordered: ScalarMatch | undefined },
): Yielding<readonly [ScalarMatch | undefined, ObjectMatch]> {
  const declared = rules.list
  const isBag = declared === 'bag' || declared === 'sequence'
  const keyed = typeof declared === 'object' ? declared.key : undefined
  const objects = yield* matchObjects({ before, after, kind, known, listKey: key, declared: keyed })
  if (ordered !== undefined) return [ordered, objects]
  if (before.every(isJsonObject) && after.every(isJsonObject)) return [undefined, objects]
  const repeats = declared === 'set' ? 'set' : isBag ? 'bag' : undefined
  return [yield* matchScalars({ before, after, kind, known, declared: repeats }), objects]
}

/** Compares scalars and lists by index, if their order counts. If that does not settle it, returns their match where each member counts anyway. */
function* scalarOrder(walk: Walk, [before, after]: Lists, here: Here): Yielding<'settled' | ScalarMatch | undefined> {
  if (before.some(isJsonObject)) return undefined
  if (keepsOrder(before, after, (a, b) => isSameMember(a, b, here.kind, walk.known))) {
    for (let place = before.length; place < after.length; place++) gainedAt(walk, after, place)
    return 'settled'
  }
  const { kind, rules } = here
  const match = yield* matchScalars({ before, after, kind, known: walk.known, declared: 'bag' })
  const isBag = rules.list !== undefined || !before.some((member) => isRepeatable(member, kind))
  if (match.lost.length > 0) return isBag ? match : undefined
  found('reordered', walk, [before, after], here)
  return 'settled'
}

function isSameMember(a: Json, b: Json, kind: PlaceKind, known: Signatures): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return signatureOf(a, kind, known) === signatureOf(b, kind, known)
  return isScalar(a) && isScalar(b) && isSameScalar(a, b, kind)
}

function isScalar(value: Json): value is Scalar {
  return typeof value !== 'object' || value === null
}

/** Scalars without a match: changed if another unmatched scalar is at the same index, otherwise gone. Returns the indexes of the remaining gained ones. */
function* compareLeftovers(walk: Walk, lists: Lists, here: Here, { lost, gained }: ScalarMatch): Yielding<number[]> {
  const unmatched = new Set(gained)
  for (const place of lost) {
    walk.pauses.count(PAIR_STEPS)
    if (walk.pauses.due()) yield
    if (!unmatched.has(place) || typeof lists[0][place] !== typeof lists[1][place]) {
      lostAt(walk, lists[0], place, here)
      continue
    }
    unmatched.delete(place)
    yield* compareAt(walk, lists, [place, place], here)
  }
  return [...unmatched]
}

function* compareAt(walk: Walk, [before, after]: Lists, [i, j]: readonly [number, number], here: Here): Yielding<void> {
  walk.place.push(i)
  walk.afterPlace.push(j)
  const inside = walk.compare(walk, before[i] as Json, after[j] as Json, memberHere(here, i))
  if (inside !== undefined) yield* inside
  walk.place.pop()
  walk.afterPlace.pop()
}

function memberHere(here: Here, place: number): Here {
  const rules = rulesBelow(here.rules, place)
  return rules === here.rules ? here : { key: here.key, kind: here.kind, rules }
}

function lostAt(walk: Walk, before: readonly Json[], place: number, here: Here): void {
  walk.place.push(place)
  removed(walk, before[place] as Json, memberHere(here, place))
  walk.place.pop()
}

function gainedAt(walk: Walk, after: readonly Json[], place: number): void {
  walk.afterPlace.push(place)
  walk.sink.gained(walk.afterPlace, after[place] as Json)
  walk.afterPlace.pop()
}

function duplicateAt(walk: Walk, after: readonly Json[], [first, second]: readonly [number, number], here: Here): void {
  const place = [...walk.afterPlace, second]
  const [before, again] = [after[first] as Json, after[second] as Json]
  const { rules } = memberHere(here, second)
  walk.sink.change({ kind: 'duplicate', place, afterPlace: place, before, after: again, rules })
}

function checkObjectOrder(
  walk: Walk,
  [before, after]: Lists,
  pairs: readonly (readonly [number, number])[],
  here: Here,
): void {
  let last = -1
  for (const [, j] of pairs) {
    if (j < last) {
      found('reordered', walk, [before, after], here)
      return
    }
    last = j
  }
}
