/** @module Matches the list members that are not objects, as a bag, or as a set if repeats have no meaning. */
import { plainLower } from '../../../../projections/plain-text.ts'
import { isJsonObject, type Json } from '../../../../schemas/json.ts'
import type { Yielding } from '../../yielding.ts'
import type { PlaceKind } from '../meaning/place-kind.ts'
import { type Signatures, signatureOf } from '../meaning/signature.ts'

const SETS: ReadonlySet<string> = new Set(
  'entities constraints requirements rules policies tags labels keywords topics categories'.split(' '),
)
const CARRIERS = ['id', 'key', 'name'] as const

export interface ScalarMatch {
  /** Indexes in `before` without a match. */
  readonly lost: readonly number[]
  /** Indexes in `after`, of scalars and lists, that no member of `before` matches. */
  readonly gained: readonly number[]
  /** Indexes in `after` of objects that replaced a text and contain it. */
  readonly promoted: ReadonlySet<number>
}

export interface ScalarLists {
  readonly before: readonly Json[]
  readonly after: readonly Json[]
  readonly kind: PlaceKind
  readonly known: Signatures
  /** Declared by the policy: repeats have no meaning (`set`), or each one counts (`bag`). */
  readonly declared: 'set' | 'bag' | undefined
}

export function* matchScalars(lists: ScalarLists): Yielding<ScalarMatch> {
  const { before, after, kind, known } = lists
  const bag = new Map<number, number[]>()
  for (let place = 0; place < after.length; place++) {
    const member = after[place] as Json
    if (!isJsonObject(member)) pushTo(bag, signatureOf(member, kind, known), place)
    if (known.pauses.due()) yield
  }
  const used = new Set<number>()
  const lost: number[] = []
  for (let place = 0; place < before.length; place++) {
    const member = before[place] as Json
    if (known.pauses.due()) yield
    if (isJsonObject(member)) continue
    const places = bag.get(signatureOf(member, kind, known))
    const counterpart = places === undefined || !isSetMember(member, lists) ? places?.pop() : places[0]
    if (counterpart !== undefined) used.add(counterpart)
    else if (member !== null) lost.push(place)
  }
  known.pauses.count(lost.length + after.length)
  if (known.pauses.due()) yield
  const promoted = promotedOf(lost, lists)
  const gained: number[] = []
  for (const [place, member] of after.entries()) if (!isJsonObject(member) && !used.has(place)) gained.push(place)
  return { lost: lost.filter((place) => !promoted.has(place)), gained, promoted: new Set(promoted.values()) }
}

function isSetMember(member: Json, { kind, declared }: ScalarLists): boolean {
  return declared === undefined ? isRepeatable(member, kind) : declared === 'set'
}

/** Whether repeats of the member have no meaning: true for names and sentences, false for numbers and short texts. */
export function isRepeatable(member: Json, kind: PlaceKind): boolean {
  if (typeof member !== 'string') return false
  return kind.isEntities || SETS.has(kind.words.at(-1) ?? '') || isSentence(member)
}

/** Whether the text has at least three words. */
export function isSentence(text: string): boolean {
  const first = text.indexOf(' ')
  return first > 0 && text.indexOf(' ', first + 1) > 0
}

/** Texts that became an object with the text as `id`, `key` or `name`: index of the text to index of the object. */
function promotedOf(lost: readonly number[], { before, after }: ScalarLists): ReadonlyMap<number, number> {
  const promoted = new Map<number, number>()
  if (lost.length === 0) return promoted
  const carried = new Map<string, number>()
  for (const [place, member] of after.entries()) {
    if (!isJsonObject(member)) continue
    for (const key of CARRIERS) {
      const value = Object.hasOwn(member, key) ? member[key] : undefined
      if (typeof value === 'string') carried.set(plainLower(value), place)
    }
  }
  for (const place of lost) {
    const member = before[place] as Json
    const carrier = typeof member === 'string' ? carried.get(plainLower(member)) : undefined
    if (carrier !== undefined) promoted.set(place, carrier)
  }
  return promoted
}

export function pushTo<K>(map: Map<K, number[]>, key: K, place: number): void {
  const places = map.get(key)
  if (places === undefined) map.set(key, [place])
  else places.push(place)
}
