/**
 * @module Moved values: removed at one place and found at another, because they were renamed, nested differently, or turned from a map
 * into a list. Leaves are paired one to one, and only those that the comparison by equal paths left over.
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
  /** Keys on the path and names of list members, sorted, with the value; equal if only the nesting differs. */
  readonly signature: string
}

/** Maximum number of leaves read on either side, and of leaves for which renamed keys are searched one by one. */
const LEAVES_MAX = 4000
const RENAMED_MAX = 128
const SMALL_NUMBER = 10
const TEXT_MIN_CHARS = 3
const NAMES = ['id', 'key', 'name'] as const

/** Whether a removed list member was a duplicate: it has an id, and an equal member remains in the list. */
export function isSaidOnce({ kind, place, before }: Change, after: JsonObject): boolean {
  if (kind !== 'removed' || typeof place.at(-1) !== 'number' || !isJsonObject(before)) return false
  const list = valueAt(after, place.slice(0, -1).map(String))
  if (!Array.isArray(list) || list.length > LEAVES_MAX || !Object.keys(before).some(isReference)) return false
  return list.some((member) => isEqual(member as Json, before))
}

/** Changes whose established value is found, as a whole, among the added values. */
export function movedAmong(
  before: JsonObject,
  changes: readonly Change[],
  gains: readonly Gain[],
): ReadonlySet<Change> {
  const gone = changes.filter(({ kind }) => kind === 'removed' || kind === 'changed')
  // A new list member is a separate thing, so its values are no counterparts of values that another one had.
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
  for (const { signature } of leaves) {
    const found = bySignature.get(signature)?.find((each) => free.has(each) && !taken.has(each))
    if (found === undefined) return undefined
    taken.add(found)
  }
  return taken.size === 0 ? undefined : taken
}

/** Removed scalars whose value is now under another key of the same object, or under the same key at another place. Only unambiguous pairs count. */
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
  const keys = place.filter((token) => typeof token === 'string').map(plainLower)
  visit(value, { place: [...place], keys }, leaves)
  return leaves
}

function visit(value: Json, at: { place: Token[]; keys: string[] }, leaves: Leaf[]): void {
  // At most one leaf more than the limit is collected; a value that is cut off finds no counterpart.
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

/** The name of a list member, which corresponds to its key in a map. */
function nameOf(member: Json): readonly string[] {
  if (!isJsonObject(member)) return []
  for (const key of NAMES) if (typeof member[key] === 'string') return [plainLower(member[key])]
  return []
}

// Whether two scalars are equal under keys that may name a unit: `max_open_mw: 150` and `max_open_gw: 0.15`.

const SECONDS = readUnit('seconds') as Unit
const CLOCK = /^(\d{1,3}):([0-5]\d):([0-5]\d)$/

function isSameUnder(before: { key: string; value: Scalar }, after: { key: string; value: Scalar }): boolean {
  const [a, b] = [quantityUnder(before.key, before.value), quantityUnder(after.key, after.value)]
  if (a !== undefined && b !== undefined) return isSameQuantity(a, b)
  if (a !== undefined || b !== undefined) return before.value === after.value
  return isSameScalar(before.value, after.value, placeKind(after.key, false))
}

/** The quantity of a scalar. A time of day counts as seconds: `01:05:02` equals a number under a key that counts seconds. */
function quantityUnder(key: string, value: Scalar): Quantity | undefined {
  const { unit } = placeKind(key, false)
  if (typeof value === 'number') return unit === undefined ? undefined : { value, unit }
  if (typeof value !== 'string') return undefined
  const clock = CLOCK.exec(value)
  if (clock === null) return readQuantity(plainText(value))
  const [, hours, minutes, seconds] = clock
  return { value: Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds), unit: SECONDS }
}
