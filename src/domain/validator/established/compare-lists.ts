/** @module Two lists: members find their counterparts, what has none is gone, and where the order says something it is kept. */
import { isEqual } from '../../../../projections/json-equality.ts'
import { isJsonObject, type Json } from '../../../../schemas/json.ts'
import { isOrdered, keepsOrder } from '../lists/list-order.ts'
import { matchObjects } from '../lists/match-objects.ts'
import { matchScalars } from '../lists/match-scalars.ts'
import { rulesBelow } from './place-rules.ts'
import { changed, type Here, removed, type Walk } from './walk.ts'

type Lists = readonly [readonly Json[], readonly Json[]]

/** Members are compared as all values are. */
interface ListHere extends Here {
  readonly compare: (walk: Walk, values: readonly [Json, Json], here: Here) => void
}

/** Deeper down, looking for equality first would read nested lists once for each list around them. */
const EQUALITY_MAX_DEPTH = 8

export function compareLists(walk: Walk, lists: Lists, here: ListHere): void {
  if (walk.place.length <= EQUALITY_MAX_DEPTH && isEqual(lists[0], lists[1])) return
  const declared = here.rules.list
  const keyed = typeof declared === 'object' ? declared.key : undefined
  const order = declared === undefined ? isOrdered(lists[0], here.kind) : declared === 'sequence'
  if (order && keepsScalarOrder(walk, lists, here)) return

  const [before, after] = lists
  const common = { before, after, kind: here.kind, known: walk.known }
  const isBag = declared === 'bag' || declared === 'sequence'
  const scalars = matchScalars({ ...common, declared: declared === 'set' ? 'set' : isBag ? 'bag' : undefined })
  const objects = matchObjects({ ...common, listKey: here.key, declared: keyed })
  const gainedObjects = objects.gained.filter((place) => !scalars.promoted.has(place))

  const left = compareLeftovers(walk, lists, { ...here, lost: scalars.lost, gained: new Set(scalars.gained) })
  const isShallow = walk.place.length <= EQUALITY_MAX_DEPTH
  for (const [i, j] of objects.pairs) {
    if (isShallow && isEqual(before[i] as Json, after[j] as Json)) continue
    compareAt(walk, lists, [i, j], here)
  }
  for (const i of objects.lost) lostAt(walk, before, i, here)
  for (const place of [...left, ...gainedObjects].toSorted((a, b) => a - b)) gainedAt(walk, after, place)
  for (const { first, second } of objects.duplicates) duplicateAt(walk, after, [first, second], here)
  if (order) checkObjectOrder(walk, lists, objects.pairs, here)
}

/** Scalars in their order need no counterparts; answers whether all is said. */
function keepsScalarOrder(walk: Walk, [before, after]: Lists, here: Here): boolean {
  if (before.some((member) => isJsonObject(member) || Array.isArray(member))) return false
  if (keepsOrder(before, after, here.kind)) {
    for (let place = before.length; place < after.length; place++) gainedAt(walk, after, place)
    return true
  }
  const { lost } = matchScalars({ before, after, kind: here.kind, known: walk.known, declared: 'bag' })
  if (lost.length > 0) return false
  walk.sink.change({
    kind: 'reordered',
    place: walk.place,
    afterPlace: walk.afterPlace,
    before,
    after,
    rules: here.rules,
  })
  return true
}

/** Scalars without a counterpart: changed where another one stands in their place, else gone. Answers the gained places left. */
function compareLeftovers(
  walk: Walk,
  lists: Lists,
  here: ListHere & { readonly lost: readonly number[]; readonly gained: ReadonlySet<number> },
): readonly number[] {
  const taken = new Set<number>()
  for (const place of here.lost) {
    const stands = here.gained.has(place) && typeof lists[0][place] === typeof lists[1][place]
    if (!stands) {
      lostAt(walk, lists[0], place, here)
      continue
    }
    taken.add(place)
    compareAt(walk, lists, [place, place], here)
  }
  return [...here.gained].filter((place) => !taken.has(place))
}

function compareAt(walk: Walk, [before, after]: Lists, [i, j]: readonly [number, number], here: ListHere): void {
  walk.place.push(i)
  walk.afterPlace.push(j)
  here.compare(walk, [before[i] as Json, after[j] as Json], memberHere(here, i))
  walk.place.pop()
  walk.afterPlace.pop()
}

function memberHere(here: Here, place: number): Here {
  return { key: here.key, kind: here.kind, rules: rulesBelow(here.rules, place) }
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
      changed(walk, [before, after], here)
      return
    }
    last = j
  }
}
