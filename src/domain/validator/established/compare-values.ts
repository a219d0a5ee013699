/**
 * @module Compares the values below one protected key by their meaning. Objects and lists may gain members, null may be filled, states may
 * move forward, clocks and counters may rise; every other difference is a change.
 */
import { isJsonObject, type Json, type JsonObject } from '../../../../schemas/json.ts'
import type { Yielding } from '../../yielding.ts'
import { keepsKind } from '../declared/kinds.ts'
import { equalPairs, heldQuantity, isUnitKey, soleQuantity } from '../meaning/pairs.ts'
import { type PlaceKind, placeKind } from '../meaning/place-kind.ts'
import { isSameQuantity } from '../meaning/quantities.ts'
import { isSameScalar, readScalar, type Scalar } from '../meaning/scalars.ts'
import { compareLists } from './compare-lists.ts'
import { isReturn, mayMove } from './moves.ts'
import { rulesBelow } from './place-rules.ts'
import { shadowedBy } from './shadow-keys.ts'
import { found, type Here, removed, type Walk } from './walk.ts'

/** Steps per member that differs, and per member that is gained. */
const MEMBER_STEPS = 10
const GAINED_STEPS = 5

/** Compares scalars directly; for objects and lists, returns work that yields, because their comparison may take long. */
export function compareValues(walk: Walk, a: Json, b: Json, here: Here): Yielding<void> | undefined {
  if (a === b) return undefined
  if (isJsonObject(a) && isJsonObject(b) && !isEmpty(a)) return compareObjects(walk, [a, b], here)
  if (Array.isArray(a) && Array.isArray(b) && a.length > 0) return compareLists(walk, [a, b], here)
  compareOthers(walk, [a, b], here)
  return undefined
}

function compareOthers(walk: Walk, [a, b]: readonly [Json, Json], here: Here): void {
  if (establishesNothing(a, b)) walk.sink.modified(walk.place)
  else if (typeof a === 'object') compareWithText(walk, [a as JsonObject, b], here)
  else if (isJsonObject(b)) comparePromoted(walk, [a, b], here)
  else if (Array.isArray(b)) found('changed', walk, [a, b], here)
  else compareScalars(walk, [a, b as Scalar], here)
}

/** Whether the old value is null, blank or empty, so that filling it contradicts nothing. */
function establishesNothing(a: Json, b: Json): boolean {
  if (a === null) return true
  if (typeof a === 'string') return b !== null && a.trim() === ''
  return typeof a === 'object' && typeof b === 'object' && b !== null && isEmpty(a)
}

function isEmpty(value: JsonObject | readonly Json[]): boolean {
  return Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0
}

function compareScalars(walk: Walk, [a, b]: readonly [Scalar, Scalar], here: Here): void {
  if (isSameScalar(a, b, here.kind)) return
  const isKept = keepsKind(walk, [a, b], here)
  if (isKept !== undefined) {
    if (isKept) walk.sink.moved(walk.place)
    else found('changed', walk, [a, b], here)
    return
  }
  if (!mayMove(a, b, here)) found('changed', walk, [a, b], here)
  else if (isReturn(a, b, here) && walk.wasLeft(walk.place, `${b}`)) found('returned', walk, [a, b], here)
  else walk.sink.modified(walk.place)
}

/** A quantity given as an object may become one text. */
function compareWithText(walk: Walk, [a, b]: readonly [JsonObject, Json], here: Here): void {
  const [before, after] = [soleQuantity(a), typeof b === 'string' ? soleQuantity(b) : undefined]
  if (before === undefined || after === undefined || !isSameQuantity(before, after))
    found('changed', walk, [a, b], here)
}

/** A name or a number may become an object that contains it. */
function comparePromoted(walk: Walk, [a, b]: readonly [Scalar, JsonObject], here: Here): void {
  if (carries(b, a, here.kind)) walk.sink.modified(walk.place)
  else found('changed', walk, [a, b], here)
}

function carries(object: JsonObject, value: Scalar, kind: PlaceKind): boolean {
  const quantity = heldQuantity(object)
  if (quantity !== undefined && typeof value === 'number' && kind.unit !== undefined)
    return isSameQuantity({ value, unit: kind.unit }, quantity)
  for (const key of ['id', 'key', 'name', 'value', 'amount']) {
    const member = Object.hasOwn(object, key) ? object[key] : undefined
    if (member === undefined || typeof member === 'object') continue
    if ((key === 'value' || key === 'amount') !== (typeof value === 'number')) continue
    if (isSameScalar(value, member, kind)) return true
  }
  const stated =
    quantity === undefined || value === null || typeof value !== 'string' ? undefined : readScalar(value, kind)
  return quantity !== undefined && stated?.kind === 'quantity' && isSameQuantity(stated.quantity, quantity)
}

function* compareObjects(walk: Walk, [a, b]: readonly [JsonObject, JsonObject], here: Here): Yielding<void> {
  const keys = Object.keys(a)
  walk.pauses.count(keys.length)
  const differing = differingKeys([a, b], keys)
  const equal = differing.some(isUnitKey) ? equalPairs(a, b) : undefined
  let retained = keys.length - differing.length
  for (const key of differing) {
    const isRetained = Object.hasOwn(b, key)
    if (isRetained) retained += 1
    if (equal?.has(key) === true) continue
    const below: Here = { key, kind: kindBelow(here, key), rules: rulesBelow(here.rules, key) }
    walk.place.push(key)
    walk.afterPlace.push(key)
    const inside = isRetained ? compareValues(walk, a[key] as Json, b[key] as Json, below) : undefined
    if (inside !== undefined) yield* inside
    else if (!isRetained) dropped(walk, a[key] as Json, below)
    walk.place.pop()
    walk.afterPlace.pop()
    walk.pauses.count(MEMBER_STEPS)
    if (walk.pauses.due()) yield
  }
  const keysNow = Object.keys(b)
  if (keysNow.length > retained) gainedMembers(walk, [a, b], { ...here, keysNow })
}

/** Keys whose values are not the same scalar, in UTF-16 order. */
function differingKeys([a, b]: readonly [JsonObject, JsonObject], keys: readonly string[]): readonly string[] {
  const differing: string[] = []
  for (const key of keys) {
    const value = a[key]
    if (typeof value === 'object' || value !== b[key] || !Object.hasOwn(b, key)) differing.push(key)
  }
  return differing.length > 1 ? differing.sort() : differing
}

/** Reports a removed member; a member that was null or blank is no loss. */
function dropped(walk: Walk, before: Json, here: Here): void {
  if (before === null || (typeof before === 'string' && before.trim() === '')) walk.sink.dropped(walk.place)
  else removed(walk, before, here)
}

function gainedMembers(
  walk: Walk,
  [a, b]: readonly [JsonObject, JsonObject],
  here: Here & { readonly keysNow: readonly string[] },
): void {
  const gained = here.keysNow.filter((key) => !Object.hasOwn(a, key)).sort()
  walk.pauses.count(GAINED_STEPS * gained.length)
  for (const key of gained) {
    walk.afterPlace.push(key)
    walk.sink.gained(walk.afterPlace, b[key] as Json)
    walk.afterPlace.pop()
  }
  for (const { key, gainedKey } of shadowedBy(a, b, gained, walk.known)) {
    const [before, after] = [a[key] as Json, b[gainedKey] as Json]
    const place = [...walk.afterPlace, gainedKey]
    walk.sink.change({ kind: 'shadow', place, afterPlace: place, before, after, rules: rulesBelow(here.rules, key) })
  }
}

/** The kind of a member: the number under `value` or `amount` has the kind of the key above. */
function kindBelow({ kind }: Pick<Here, 'kind'>, key: string): PlaceKind {
  return (key === 'value' || key === 'amount') && kind.words.length > 0 ? kind : placeKind(key, kind.isEntities)
}
