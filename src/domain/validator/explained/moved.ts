/**
 * @module Moved values: removed at one place and found at another, because they were renamed, nested differently, or turned from a map
 * into a list. Leaves are paired one to one, and only those that the comparison by equal paths left over.
 */
import { keyWords } from '../../../../projections/key-words.ts'
import { isReference, listIdentity } from '../../../../projections/list-identity.ts'
import { plainLower } from '../../../../projections/plain-text.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../../schemas/json.ts'
import { formatPointer, parsePointer, type Token, valueAt } from '../../../../schemas/json-pointer.ts'
import type { Change, Gain } from '../established/changes.ts'
import { quantityUnder } from '../meaning/pairs.ts'
import { placeKind } from '../meaning/place-kind.ts'
import { baseValue, isSameQuantity } from '../meaning/quantities.ts'
import { isSameScalar, type Scalar, scalarText } from '../meaning/scalars.ts'
import { type Quantity, readUnit, type Unit } from '../meaning/units.ts'
import { canonicalText } from '../report.ts'
import { shownAs } from './derived.ts'
import { mayBeRenamed } from './renamed-keys.ts'

interface Leaf {
  readonly parent: string
  readonly key: string
  readonly value: Scalar
  /** Keys on the path and names of list members, sorted, with the value; equal if only the nesting differs. */
  readonly signature: string
  /** Whether the value is the name of a list member that has other values; in a map it is the key. */
  readonly isName: boolean
}

/** Maximum number of leaves read on either side, and of leaves for which renamed keys are searched one by one. */
const LEAVES_MAX = 4000
const RENAMED_MAX = 128
/** Maximum number of members of a list's objects that are tried as names. */
const NAME_KEYS_MAX = 8
const SMALL_NUMBER = 10
const TEXT_MIN_CHARS = 3
/** Minimum number of digits of a converted number that is rounded. */
const ROUNDED_DIGITS_MIN = 3

/** Returns whether a removed list member was a duplicate: it has an id, and an equal member remains in the list. */
export function saidOnceIn(after: JsonObject): (change: Change) => boolean {
  const members = new Map<Json, ReadonlySet<string>>()
  return ({ kind, place, before }) => {
    if (kind !== 'removed' || typeof place.at(-1) !== 'number' || !isJsonObject(before)) return false
    const list = valueAt(after, place.slice(0, -1))
    if (!Array.isArray(list) || list.length > LEAVES_MAX || !Object.keys(before).some(isReference)) return false
    const texts = members.get(list) ?? new Set(list.map(canonicalText))
    members.set(list, texts)
    return texts.has(canonicalText(before))
  }
}

/** Changes whose established value is found, as a whole, among the added values. */
export function movedAmong(
  before: JsonObject,
  changes: readonly Change[],
  gains: readonly Gain[],
): ReadonlySet<Change> {
  const gone = changes.filter(({ kind }) => kind === 'removed' || kind === 'changed')
  const converted = convertedAmong(changes, gains)
  // A new list member is a separate thing, so its values are no counterparts of values that another one had.
  const isOutside = ({ place }: Gain): boolean => !place.some((token) => typeof token === 'number')
  const added = [...gains.filter(isOutside), ...gone.flatMap(rebuiltAt)]
  if (gone.length === 0 || added.length === 0) return converted
  const free = new Set(added.reduce<Leaf[]>((leaves, { place, value }) => leavesOf(value, place, leaves), []))
  const moved = new Set<Change>(converted)
  let looked = 0
  const bySignature = grouped(free, ({ signature }) => signature)
  for (const change of gone) {
    if (looked > LEAVES_MAX) break
    if (typeof change.before !== 'object') continue
    const leaves = leavesOf(change.before, change.place).filter(({ isName }) => !isName)
    looked += leaves.length
    const counterparts = counterpartsOf(leaves, bySignature, free)
    if (counterparts === undefined) continue
    for (const leaf of counterparts) free.delete(leaf)
    moved.add(change)
  }
  for (const change of renamedWhole(gone, gains.filter(isOutside))) moved.add(change)
  const left = gone.filter((each) => !moved.has(each))
  for (const change of renamed(left, free, before)) moved.add(change)
  return moved
}

/** The new value of an object or a list that was replaced by a container of another form. */
function rebuiltAt({ afterPlace, before, after }: Change): readonly Gain[] {
  const isRebuilt = typeof before === 'object' && before !== null && typeof after === 'object' && after !== null
  return isRebuilt && afterPlace !== undefined ? [{ place: afterPlace, value: after }] : []
}

function grouped(leaves: Iterable<Leaf>, by: (leaf: Leaf) => string): ReadonlyMap<string, Leaf[]> {
  const groups = new Map<string, Leaf[]>()
  for (const leaf of leaves) {
    const group = groups.get(by(leaf))
    if (group === undefined) groups.set(by(leaf), [leaf])
    else group.push(leaf)
  }
  return groups
}

/** The counterparts of all leaves; undefined if a leaf has none. */
function counterpartsOf(
  leaves: readonly Leaf[],
  bySignature: ReadonlyMap<string, readonly Leaf[]>,
  free: ReadonlySet<Leaf>,
): ReadonlySet<Leaf> | undefined {
  const taken = new Set<Leaf>()
  // Where to go on among the leaves of one signature: those before are taken.
  const next = new Map<string, number>()
  for (const { signature } of leaves) {
    const candidates = bySignature.get(signature) ?? []
    let at = next.get(signature) ?? 0
    while (at < candidates.length && !free.has(candidates[at] as Leaf)) at += 1
    const found = candidates[at]
    if (found === undefined) return undefined
    taken.add(found)
    next.set(signature, at + 1)
  }
  return taken.size === 0 ? undefined : taken
}

/** Removed scalars whose value is now under another key of the same object, or under the same key at another place. Only unambiguous pairs count. */
function renamed(gone: readonly Change[], free: ReadonlySet<Leaf>, before: JsonObject): readonly Change[] {
  const removed = gone.filter((change) => change.kind === 'removed' && isTelling(change.before))
  if (removed.length === 0 || free.size === 0 || removed.length + free.size > RENAMED_MAX) return []
  const scalars = removed.flatMap((change) => leavesOf(change.before, change.place).map((leaf) => ({ change, leaf })))
  const found: Change[] = []
  for (const by of [({ parent }: Leaf) => parent, ({ key }: Leaf) => keyWords(key).join(' ')]) {
    const candidates = grouped(free, by)
    for (const { change, leaf } of scalars) {
      if (found.includes(change)) continue
      const same = (candidates.get(by(leaf)) ?? []).filter((each) => isSameUnder(leaf, each))
      const rivals = scalars.filter(
        (each) => by(each.leaf) === by(leaf) && same.some((one) => isSameUnder(each.leaf, one)),
      )
      const [one] = same
      if (
        one !== undefined &&
        same.length === 1 &&
        rivals.length === 1 &&
        isRelated(leaf, one, before) &&
        mayBeRenamed(leaf.key, one.key, leaf.value)
      )
        found.push(change)
    }
  }
  return found
}

/** Removed objects that are now, whole, under one other key beside them. */
function renamedWhole(gone: readonly Change[], gains: readonly Gain[]): readonly Change[] {
  const isObject = (value: Json): boolean => typeof value === 'object' && value !== null
  const removed = gone.filter(({ kind, before, place }) => kind === 'removed' && isObject(before) && place.length > 0)
  const added = gains.filter(({ value, place }) => isObject(value) && place.length > 0)
  if (removed.length === 0 || added.length === 0 || removed.length + added.length > RENAMED_MAX) return []
  const contentsOf = ({ place, value }: Gain): string => {
    const holder = place.slice(0, -1)
    const signatures = leavesOf(value, holder).map(({ signature }) => signature)
    return JSON.stringify([formatPointer(holder), signatures.sort()])
  }
  const keyOf = ({ place }: Pick<Gain, 'place'>): string =>
    `${place.findLast((token) => typeof token === 'string') ?? ''}`
  const was = Map.groupBy(removed, ({ place, before }) => contentsOf({ place, value: before }))
  const is = Map.groupBy(added, contentsOf)
  return [...was].flatMap(([contents, [change, rival]]) => {
    const [now, another] = is.get(contents) ?? []
    if (change === undefined || rival !== undefined || now === undefined || another !== undefined) return []
    if (!mayBeRenamed(keyOf(change), keyOf(now), change.before)) return []
    return Object.values(change.before as JsonObject).some(isTelling) ? [change] : []
  })
}

/** Whether the value is specific; small numbers, short words and booleans occur everywhere. */
function isTelling(value: Json): boolean {
  if (typeof value === 'number') return Math.abs(value) >= SMALL_NUMBER || !Number.isInteger(value)
  return typeof value === 'string' && value.trim().length >= TEXT_MIN_CHARS
}

/** Whether the parent of one leaf contains the other, and the keys share a word or the removed leaf had siblings. */
function isRelated(leaf: Leaf, other: Leaf, before: JsonObject): boolean {
  if (!`${other.parent}/`.startsWith(`${leaf.parent}/`) && !`${leaf.parent}/`.startsWith(`${other.parent}/`))
    return false
  if (keyWords(leaf.key).some((word) => keyWords(other.key).includes(word))) return true
  const holder = valueAt(before, parsePointer(leaf.parent) ?? [])
  return holder !== undefined && Object.keys(holder ?? {}).length > 1
}

function leavesOf(value: Json, place: readonly Token[], leaves: Leaf[] = []): Leaf[] {
  const keys = place.filter((token) => typeof token === 'string')
  visit(value, { place: [...place], keys, nameKey: undefined }, leaves)
  return leaves
}

interface Visited {
  readonly place: Token[]
  /** The keys on the path, and the names of list members. */
  readonly keys: readonly string[]
  /** The key of the scalar that names the object which is visited. */
  readonly nameKey: string | undefined
}

function visit(value: Json, at: Visited, leaves: Leaf[]): void {
  if (typeof value !== 'object' || value === null) {
    const key = `${at.place.findLast((token) => typeof token === 'string') ?? ''}`
    const text = scalarText(value, placeKind(key, false))
    const parent = formatPointer(at.place.slice(0, -1))
    const signature = JSON.stringify([at.keys.map(plainLower).sort(), text])
    leaves.push({ parent, key, value, signature, isName: at.nameKey === key })
    return
  }
  const isList = Array.isArray(value)
  const identity = isList ? nameKeyOf(value as readonly Json[], `${at.place.at(-1) ?? ''}`) : undefined
  for (const [token, member] of isList ? value.entries() : Object.entries(value)) {
    // At most one leaf more than the limit is collected; a value that is cut off finds no counterpart.
    if (leaves.length > LEAVES_MAX) return
    at.place.push(token)
    visit(member as Json, { place: at.place, ...namedBelow(token, member as Json, { at, identity }) }, leaves)
    at.place.pop()
  }
}

/** The member whose values can become the keys of a map: the identity of the list, else the first one that is a distinct text in all members. */
function nameKeyOf(list: readonly Json[], key: string): string | undefined {
  const identity = listIdentity({ before: list, after: list }, key)
  if (identity?.keys.length === 1) return identity.keys[0]
  const [first] = list
  if (first === undefined || !isJsonObject(first) || list.length > LEAVES_MAX) return undefined
  return Object.keys(first)
    .slice(0, NAME_KEYS_MAX)
    .find((each) => typeof first[each] === 'string' && isDistinctIn(list, each))
}

function isDistinctIn(list: readonly Json[], key: string): boolean {
  const texts = new Set(list.map((member) => (isJsonObject(member) ? member[key] : undefined)))
  return texts.size === list.length && [...texts].every((text) => typeof text === 'string')
}

/** A list member is named by its identity, which corresponds to its key in a map. A key that repeats a value of the member is a group, not a name. */
function namedBelow(
  token: Token,
  member: Json,
  { at, identity }: { readonly at: Visited; readonly identity: string | undefined },
): Pick<Visited, 'keys' | 'nameKey'> {
  if (typeof token === 'string') return { keys: [...at.keys, token], nameKey: at.nameKey }
  if (!isJsonObject(member)) return { keys: at.keys, nameKey: undefined }
  const values = new Set(Object.values(member).filter((value) => typeof value === 'string'))
  const keys = at.keys.filter((key) => !values.has(key))
  const name = identity === undefined ? undefined : member[identity]
  if (typeof name !== 'string') return { keys, nameKey: undefined }
  return { keys: [...keys, name], nameKey: Object.keys(member).length > 1 ? identity : undefined }
}

// Whether two scalars are equal under keys that may name a unit: `max_open_mw: 150` and `max_open_gw: 0.15`.

const SECONDS = readUnit('seconds') as Unit
const CLOCK = /^(\d{1,3}):([0-5]\d):([0-5]\d)$/

function isSameUnder(before: { key: string; value: Scalar }, after: { key: string; value: Scalar }): boolean {
  const [a, b] = [measureUnder(before.key, before.value), measureUnder(after.key, after.value)]
  if (a !== undefined && b !== undefined) return isSameQuantity(a, b) || isRounded(a, b)
  if (a !== undefined || b !== undefined) return before.value === after.value
  return isSameScalar(before.value, after.value, placeKind(after.key, false))
}

/** Whether a converted number is the old one, rounded to the digits that it shows, at least three: 1184 sq ft are 110 m2. */
function isRounded(was: Quantity, is: Quantity): boolean {
  if (was.unit.dimension !== is.unit.dimension || was.unit.factor === is.unit.factor) return false
  const digits = `${Math.abs(is.value)}`.replace('.', '').replace(/^0+/, '').length
  return digits >= ROUNDED_DIGITS_MIN && shownAs(is.value)((baseValue(was) - (is.unit.offset ?? 0)) / is.unit.factor)
}

/** The quantity of a scalar. A time of day counts as seconds: `01:05:02` equals a number under a key that counts seconds. */
function measureUnder(key: string, value: Scalar): Quantity | undefined {
  const clock = typeof value === 'string' ? CLOCK.exec(value) : null
  if (clock === null) return quantityUnder(key, value)
  const [, hours, minutes, seconds] = clock
  return { value: Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds), unit: SECONDS }
}

// A number that has changed its unit together with its key, in the same object: `fade_s: 6` and `fade_ms: 6000`.

function convertedAmong(changes: readonly Change[], gains: readonly Gain[]): ReadonlySet<Change> {
  const byStem = new Map<string, Gain[]>()
  for (const gain of gains) {
    const stem = stemOf(gain.place)
    if (typeof gain.value === 'number' && stem !== undefined) byStem.set(stem, [...(byStem.get(stem) ?? []), gain])
  }
  return new Set(
    changes.filter(({ kind, place, before }) => {
      const stem = kind === 'removed' && typeof before === 'number' ? stemOf(place) : undefined
      const [gain, another] = stem === undefined ? [] : (byStem.get(stem) ?? [])
      if (gain === undefined || another !== undefined) return false
      const [was, is] = [
        { key: `${place.at(-1)}`, value: before as number },
        { key: `${gain.place.at(-1)}`, value: gain.value as number },
      ]
      return isSameUnder(was, is)
    }),
  )
}

/** The place without the unit at the end of its key; undefined if the key names none. */
function stemOf(place: readonly Token[]): string | undefined {
  const key = place.at(-1)
  if (typeof key !== 'string' || placeKind(key, false).unit === undefined) return undefined
  const words = keyWords(key)
  // `area_km2` has the words `area`, `km`, `2`.
  const stem = words.slice(0, /^\d$/.test(words.at(-1) ?? '') ? -2 : -1)
  return formatPointer([...place.slice(0, -1), stem.join(' ')])
}
