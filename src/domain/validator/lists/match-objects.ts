/** @module Matches the objects of two lists: by identity, else by content, else by the member that identifies most of them. */

import { keyWords } from '../../../../projections/key-words.ts'
import { type Identity, identityText, isReference, listIdentity } from '../../../../projections/list-identity.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../../schemas/json.ts'
import type { Yielding } from '../../yielding.ts'
import { type PlaceKind, placeKind } from '../meaning/place-kind.ts'
import { isSameScalar } from '../meaning/scalars.ts'
import { hasReadMoving, objectSignature, type Signatures, signatureOf } from '../meaning/signature.ts'
import { pushTo } from './match-scalars.ts'

export interface ObjectLists {
  readonly before: readonly Json[]
  readonly after: readonly Json[]
  readonly listKey: string
  readonly kind: PlaceKind
  readonly known: Signatures
  /** Keys that the policy declares as the identity of the members. */
  readonly declared: readonly string[] | undefined
}

export interface Duplicate {
  readonly first: number
  readonly second: number
  readonly identity: Identity
}

export interface ObjectMatch {
  /** Matches that still have to be compared: an index in `before` and one in `after`. */
  readonly pairs: readonly (readonly [number, number])[]
  readonly lost: readonly number[]
  readonly gained: readonly number[]
  /** Indexes in `after` of members with one identity and different values. */
  readonly duplicates: readonly Duplicate[]
}

/** Maximum number of distinct key sets for which matches with additional members are searched. */
const SHAPES_MAX = 8

/** Steps per member in a pass over a list. */
const MEMBER_STEPS = 3

interface Search {
  readonly lists: ObjectLists
  readonly pairs: (readonly [number, number])[]
  /** Indexes without a match yet, in order. */
  lost: number[]
  gained: number[]
}

export function* matchObjects(lists: ObjectLists): Yielding<ObjectMatch> {
  const { before, after, listKey, declared } = lists
  const search: Search = { lists, pairs: [], lost: objectPlaces(before), gained: objectPlaces(after) }
  if (search.lost.length === 0) return { ...search, duplicates: [] }
  const identity = listIdentity({ before, after }, listKey, declared)
  if (isLong(search)) yield
  const duplicates = identity === undefined ? [] : yield* pairByIdentity(search, identity)
  if (identity === undefined) yield* pairByContent(search)
  if (isLong(search)) yield
  yield* pairByAnchor(search)
  if (isLong(search)) yield
  yield* pairByPlace(search)
  return { pairs: search.pairs.toSorted(([a], [b]) => a - b), lost: search.lost, gained: search.gained, duplicates }
}

/** Counts one pass over the members without a match, and returns whether it is time to pause. */
function isLong({ lists, lost, gained }: Search): boolean {
  const { pauses } = lists.known
  pauses.count(MEMBER_STEPS * (lost.length + gained.length))
  return pauses.due()
}

function objectPlaces(list: readonly Json[]): number[] {
  const places: number[] = []
  for (const [place, member] of list.entries()) if (isJsonObject(member)) places.push(place)
  return places
}

function* pairByIdentity(search: Search, identity: Identity): Yielding<Duplicate[]> {
  const { before, after, known } = search.lists
  const duplicates: Duplicate[] = []
  const index = new Map<string, number>()
  const repeats = new Set<number>()
  for (const place of search.gained) {
    const text = identityText(after[place] as Json, identity)
    if (text === undefined) continue
    const first = index.get(text)
    if (first === undefined) index.set(text, place)
    else if (isRepeat(search.lists, { first, second: place, identity }, duplicates)) repeats.add(place)
    known.pauses.count(MEMBER_STEPS)
    if (known.pauses.due()) yield
  }
  pairUp(search, (place) => {
    const text = identityText(before[place] as Json, identity)
    return text === undefined ? undefined : index.get(text)
  })
  search.gained = search.gained.filter((place) => !repeats.has(place))
  return duplicates
}

/** Whether the second member repeats the first; if their values differ, the pair is recorded as a duplicate. */
function isRepeat({ after, known }: ObjectLists, duplicate: Duplicate, noted: Duplicate[]): boolean {
  const [first, second] = [after[duplicate.first] as JsonObject, after[duplicate.second] as JsonObject]
  const { isComplete, keys } = duplicate.identity
  let differs = false
  for (const key of Object.keys(second)) {
    if (keys.includes(key) || !Object.hasOwn(first, key)) continue
    if (isAgreeing([first[key] as Json, second[key] as Json], key, known)) continue
    if (!isComplete && (isReference(key) || isTimeKey(key))) return false
    differs = true
  }
  if (differs) noted.push(duplicate)
  return !differs
}

function isAgreeing([a, b]: readonly [Json, Json], key: string, known: Signatures): boolean {
  if (a === null || b === null) return true
  const kind = placeKind(key, false)
  if (typeof a !== 'object' && typeof b !== 'object') return isSameScalar(a, b, kind)
  return signatureOf(a, kind, known) === signatureOf(b, kind, known)
}

const TIMES: ReadonlySet<string> = new Set(['at', 'on', 'date', 'time', 'timestamp', 'day'])

function isTimeKey(key: string): boolean {
  return TIMES.has(keyWords(key).at(-1) ?? '')
}

/** Matches members with equal content, then those that differ only in their progress, then those with additional members. */
function* pairByContent(search: Search): Yielding<void> {
  const { kind, known, before } = search.lists
  yield* readAll(search)
  pairBySignature(search, { sign: (member) => signatureOf(member, kind, known) })
  if (isLong(search)) yield
  const isStable = (key: string): boolean => !placeKind(key, false).isMoving
  if (hasReadMoving(known)) {
    pairBySignature(search, { sign: (member) => objectSignature(member, { kind, known, counts: isStable }) })
    if (isLong(search)) yield
  }
  if (search.lost.length === 0 || search.gained.length === 0) return
  const shapes = new Map<string, number[]>()
  for (const place of search.lost) pushTo(shapes, shapeOf(before[place] as JsonObject), place)
  const largest = [...shapes.values()].toSorted((a, b) => b.length - a.length || (a[0] as number) - (b[0] as number))
  for (const places of largest.slice(0, SHAPES_MAX)) {
    const first = before[places[0] as number] as JsonObject
    const keys = new Set(Object.keys(first).filter(isStable))
    const told = [...keys].filter((key) => first[key] !== null)
    const sign = (member: JsonObject): number =>
      objectSignature(member, { kind, known, counts: (key) => keys.has(key) })
    // Members without additional keys were matched by content already.
    const isLarger = (member: JsonObject): boolean =>
      Object.keys(member).length > told.length && told.every((key) => Object.hasOwn(member, key))
    pairBySignature(search, { sign, within: new Set(places), isCandidate: isLarger })
    if (isLong(search)) yield
  }
}

/** Computes the signatures of all members in pieces, which are cached from then on. */
function* readAll({ lists, lost, gained }: Search): Yielding<void> {
  const { before, after, kind, known } = lists
  for (const [list, places] of [
    [after, gained],
    [before, lost],
  ] as const) {
    for (const place of places) {
      signatureOf(list[place] as Json, kind, known)
      if (known.pauses.due()) yield
    }
  }
}

function shapeOf(member: JsonObject): string {
  return Object.keys(member)
    .filter((key) => member[key] !== null)
    .toSorted()
    .join('\n')
}

interface BySignature {
  readonly sign: (member: JsonObject) => number
  /** Indexes in `before` of the members to be matched, and which members of `after` may be counterparts; if absent, all. */
  readonly within?: ReadonlySet<number>
  readonly isCandidate?: (member: JsonObject) => boolean
}

function pairBySignature(search: Search, { sign, within, isCandidate = () => true }: BySignature): void {
  const { before, after } = search.lists
  const index = new Map<number, number[]>()
  for (const place of search.gained.toReversed()) {
    const member = after[place] as JsonObject
    if (isCandidate(member)) pushTo(index, sign(member), place)
  }
  if (index.size === 0) return
  pairUp(search, (place) => {
    if (within?.has(place) === false) return undefined
    return index.get(sign(before[place] as JsonObject))?.pop()
  })
}

function pairUp(search: Search, counterpartOf: (place: number) => number | undefined): void {
  const used = new Set<number>()
  search.lost = search.lost.filter((place) => {
    const counterpart = counterpartOf(place)
    if (counterpart === undefined) return true
    search.pairs.push([place, counterpart])
    used.add(counterpart)
    return false
  })
  search.gained = search.gained.filter((place) => !used.has(place))
}

/** Matches the remaining members by the key whose texts are unique on both sides and match most often. */
function* pairByAnchor(search: Search): Yielding<void> {
  const { before, after } = search.lists
  if (search.lost.length === 0 || search.gained.length === 0) return
  const first = before[search.lost[0] as number] as JsonObject
  let best: { meets: number; index: Map<string, number>; key: string } | undefined
  for (const key of Object.keys(first).slice(0, 32).toSorted()) {
    if (typeof first[key] !== 'string') continue
    const identity: Identity = { keys: [key], isStrong: false, isComplete: false }
    if (isLong(search)) yield
    const known = uniqueTexts(before, search.lost, identity)
    const index = known === undefined ? undefined : uniqueTexts(after, search.gained, identity)
    if (known === undefined || index === undefined) continue
    let meets = 0
    for (const text of known.keys()) if (index.has(text)) meets += 1
    if (meets > (best?.meets ?? 0)) best = { meets, index, key }
  }
  if (best === undefined) return
  const { key, index } = best
  pairUp(search, (place) => {
    const text = identityText(before[place] as Json, { keys: [key], isStrong: false, isComplete: false })
    return text === undefined ? undefined : index.get(text)
  })
}

function uniqueTexts(
  list: readonly Json[],
  places: readonly number[],
  identity: Identity,
): Map<string, number> | undefined {
  const texts = new Map<string, number>()
  for (const place of places) {
    const text = identityText(list[place] as Json, identity)
    if (text === undefined || texts.has(text)) return undefined
    texts.set(text, place)
  }
  return texts
}

/** Matches remaining members at the same index in both lists, or the only one left on each side, if they are mostly equal: such a member was changed. */
function* pairByPlace(search: Search): Yielding<void> {
  const { before, after, known } = search.lists
  const gained = new Set(search.gained)
  const single = search.lost.length === 1 && search.gained.length === 1 ? search.gained[0] : undefined
  const counterparts = new Map<number, number>()
  for (const place of search.lost) {
    const counterpart = gained.has(place) ? place : single
    if (counterpart === undefined) continue
    if (isMostlySame(before[place] as JsonObject, after[counterpart] as JsonObject, known))
      counterparts.set(place, counterpart)
    if (known.pauses.due()) yield
  }
  pairUp(search, (place) => counterparts.get(place))
}

/** Whether all keys of `a` are in `b`, or at least half of its members agree. */
function isMostlySame(a: JsonObject, b: JsonObject, known: Signatures): boolean {
  const keys = Object.keys(a)
  known.pauses.count(MEMBER_STEPS * keys.length)
  const there = keys.filter((key) => Object.hasOwn(b, key))
  if (there.length === keys.length) return true
  const same = there.filter((key) => isAgreeing([a[key] as Json, b[key] as Json], key, known))
  return same.length * 2 >= keys.length
}
