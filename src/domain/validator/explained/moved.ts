/**
 * @module What is gone from one place and stands at another: renamed, nested otherwise, a map that became a list. Leaves are paired one to one, and only
 * those that the walk of like paths left over.
 */
import { keyWords } from '../../../../projections/key-words.ts'
import { isReference } from '../../../../projections/list-identity.ts'
import { plainLower, plainText } from '../../../../projections/plain-text.ts'
import { isEqual, isJsonObject, type Json, type JsonObject } from '../../../../schemas/json.ts'
import { formatPointer, parsePointer, type Token, valueAt } from '../../../../schemas/json-pointer.ts'
import type { Change, Gain } from '../established/changes.ts'
import { placeKind } from '../meaning/place-kind.ts'
import { isSameQuantity, readQuantity } from '../meaning/quantities.ts'
import { isSameScalar, type Scalar, scalarText } from '../meaning/scalars.ts'
import { type Quantity, readUnit, type Unit } from '../meaning/units.ts'

interface Leaf {
  readonly parent: string
  readonly key: string
  readonly value: Scalar
  /** Keys on the way and names of list members, in any order, with the value: equal where only the nesting differs. */
  readonly signature: string
}

/** Leaves that are looked at on either side, and of them those whose new names are looked for one by one. */
const LEAVES_MAX = 4000
const RENAMED_MAX = 128
const SMALL_NUMBER = 10
const TEXT_MIN_CHARS = 3
const NAMES = ['id', 'key', 'name'] as const

/** Whether a member of a list is gone that goes by an id, and stands there once more with all that it said. */
export function isSaidOnce({ kind, place, before }: Change, after: JsonObject): boolean {
  if (kind !== 'removed' || typeof place.at(-1) !== 'number' || !isJsonObject(before)) return false
  const list = valueAt(after, place.slice(0, -1).map(String))
  if (!Array.isArray(list) || list.length > LEAVES_MAX || !Object.keys(before).some(isReference)) return false
  return list.some((member) => isEqual(member as Json, before))
}

/** Changes whose established value stands, whole, among what is new. */
export function movedAmong(
  before: JsonObject,
  changes: readonly Change[],
  gains: readonly Gain[],
): ReadonlySet<Change> {
  const gone = changes.filter(({ kind }) => kind === 'removed' || kind === 'changed')
  // A new member of a list is a thing of its own: what it says is no counterpart of what another one said.
  const isOutside = ({ place }: Gain): boolean => !place.some((token) => typeof token === 'number')
  const added = [...gains.filter(isOutside), ...gone.flatMap(rebuiltAt)]
  if (gone.length === 0 || added.length === 0) return new Set()
  const free = new Set(added.reduce<Leaf[]>((leaves, { place, value }) => leavesOf(value, place, leaves), []))
  const moved = new Set<Change>()
  let looked = 0
  const bySignature = grouped(free, ({ signature }) => signature)
  for (const change of gone) {
    if (looked > LEAVES_MAX) break
    if (typeof change.before !== 'object') continue
    const leaves = leavesOf(change.before, change.place)
    looked += leaves.length
    const counterparts = counterpartsOf(leaves, bySignature, free)
    if (counterparts === undefined) continue
    for (const leaf of counterparts) free.delete(leaf)
    moved.add(change)
  }
  const left = gone.filter((each) => !moved.has(each))
  for (const change of renamed(left, free, before)) moved.add(change)
  return moved
}

/** What took the place of an object or a list that has another form now. */
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

/** Undefined where one of them has none. */
function counterpartsOf(
  leaves: readonly Leaf[],
  bySignature: ReadonlyMap<string, readonly Leaf[]>,
  free: ReadonlySet<Leaf>,
): ReadonlySet<Leaf> | undefined {
  const taken = new Set<Leaf>()
  for (const { signature } of leaves) {
    const found = bySignature.get(signature)?.find((each) => free.has(each) && !taken.has(each))
    if (found === undefined) return undefined
    taken.add(found)
  }
  return taken.size === 0 ? undefined : taken
}

/** A scalar that is gone, and stands under another key beside the same neighbours, or under its own key elsewhere: each of the two alone in that. */
function renamed(gone: readonly Change[], free: ReadonlySet<Leaf>, before: JsonObject): readonly Change[] {
  const scalars = gone
    .filter((change) => change.kind === 'removed' && isTelling(change.before))
    .flatMap((change) => leavesOf(change.before, change.place).map((leaf) => ({ change, leaf })))
  if (scalars.length === 0 || free.size === 0 || scalars.length + free.size > RENAMED_MAX) return []
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
      if (one !== undefined && same.length === 1 && rivals.length === 1 && isRelated(leaf, one, before))
        found.push(change)
    }
  }
  return found
}

/** Small numbers, short words and switches stand everywhere. */
function isTelling(value: Json): boolean {
  if (typeof value === 'number') return Math.abs(value) >= SMALL_NUMBER || !Number.isInteger(value)
  return typeof value === 'string' && value.trim().length >= TEXT_MIN_CHARS
}

/** One lies inside what holds the other, and the two keys share a word, or stand beside more than the one that is gone. */
function isRelated(leaf: Leaf, other: Leaf, before: JsonObject): boolean {
  if (!`${other.parent}/`.startsWith(`${leaf.parent}/`) && !`${leaf.parent}/`.startsWith(`${other.parent}/`))
    return false
  if (keyWords(leaf.key).some((word) => keyWords(other.key).includes(word))) return true
  const holder = valueAt(before, parsePointer(leaf.parent) ?? [])
  return holder !== undefined && Object.keys(holder ?? {}).length > 1
}

function leavesOf(value: Json, place: readonly Token[], leaves: Leaf[] = []): Leaf[] {
  const keys = place.filter((token) => typeof token === 'string').map(plainLower)
  visit(value, { place: [...place], keys }, leaves)
  return leaves
}

function visit(value: Json, at: { place: Token[]; keys: string[] }, leaves: Leaf[]): void {
  // One more than are looked at: what is cut has no counterpart.
  if (leaves.length > LEAVES_MAX) return
  if (typeof value !== 'object' || value === null) {
    const key = `${at.place.findLast((token) => typeof token === 'string') ?? ''}`
    const text = scalarText(value, placeKind(key, false))
    const parent = formatPointer(at.place.slice(0, -1))
    leaves.push({ parent, key, value, signature: JSON.stringify([[...at.keys].sort(), text]) })
    return
  }
  for (const [token, member] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
    const names = typeof token === 'string' ? [plainLower(token)] : nameOf(member as Json)
    at.place.push(token)
    visit(member as Json, { place: at.place, keys: [...at.keys, ...names] }, leaves)
    at.place.pop()
  }
}

/** A member of a list goes by what the key of a map would say. */
function nameOf(member: Json): readonly string[] {
  if (!isJsonObject(member)) return []
  for (const key of NAMES) if (typeof member[key] === 'string') return [plainLower(member[key])]
  return []
}

// Whether two scalars say one thing, each under a key that may name its unit: `max_open_mw: 150` and `max_open_gw: 0.15`.

const SECONDS = readUnit('seconds') as Unit
const CLOCK = /^(\d{1,3}):([0-5]\d):([0-5]\d)$/

function isSameUnder(before: { key: string; value: Scalar }, after: { key: string; value: Scalar }): boolean {
  const [a, b] = [quantityUnder(before.key, before.value), quantityUnder(after.key, after.value)]
  if (a !== undefined && b !== undefined) return isSameQuantity(a, b)
  if (a !== undefined || b !== undefined) return before.value === after.value
  return isSameScalar(before.value, after.value, placeKind(after.key, false))
}

/** Of a time of day as well: `01:05:02` is so many seconds to a key that counts them. */
function quantityUnder(key: string, value: Scalar): Quantity | undefined {
  const { unit } = placeKind(key, false)
  if (typeof value === 'number') return unit === undefined ? undefined : { value, unit }
  if (typeof value !== 'string') return undefined
  const clock = CLOCK.exec(value)
  if (clock === null) return readQuantity(plainText(value))
  const [, hours, minutes, seconds] = clock
  return { value: Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds), unit: SECONDS }
}
