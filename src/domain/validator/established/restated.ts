/**
 * @module Rule `restated`: a name that is established once is repeated at another place with another value, and no sibling says that it is
 * about something else.
 */

import { keyWords } from '../../../../projections/key-words.ts'
import { isReference } from '../../../../projections/list-identity.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../../schemas/json.ts'
import { formatPointer, type Token } from '../../../../schemas/json-pointer.ts'
import type { Pauses, Yielding } from '../../yielding.ts'
import { quantityUnder, soleQuantity } from '../meaning/pairs.ts'
import { placeKind } from '../meaning/place-kind.ts'
import { isSameQuantity } from '../meaning/quantities.ts'
import { isSameScalar, type Scalar } from '../meaning/scalars.ts'
import { readUnit } from '../meaning/units.ts'
import { addFinding, type Report } from '../report.ts'
import type { Trunk } from '../trunk.ts'
import type { Gain } from './changes.ts'

export interface RestatedInput {
  readonly before: JsonObject
  readonly gains: readonly Gain[]
  readonly mode: 'off' | 'warn' | 'sure' | 'reject'
  readonly trunk: Trunk
  /** Whether the place is below a protected key. */
  readonly isJudged: (place: readonly Token[]) => boolean
}

/** Names that describe the kind of a value but not its subject. */
const GENERIC: ReadonlySet<string> = new Set(
  (
    'value amount name id key type kind status state stage phase title text description note notes date time unit currency count total number ' +
    'quantity price rate size length width height code label url path email phone role source score result reason comment summary level ' +
    'order index version done ok active enabled start end from to by at on min max mean average percent share label category'
  ).split(' '),
)
const NAME_MIN_CHARS = 4
/** Words in a path that refer to another time, a wish, or another thing. */
const ELSEWHERE: ReadonlySet<string> = new Set(
  (
    'previous prior old former last next new future proposed proposal requested request change desired wanted alternative option options ' +
    'candidate quote quotes estimate estimated forecast target goal budget planned plan expected max min limit threshold other another second ' +
    'secondary backup spouse partner parent child emergency peer competitor benchmark comparison scenario history past original historic draft ' +
    'recommended suggestion assumed hypothetical test sample example average baseline reference per'
  ).split(' '),
)
/** Names of members that say when, or about whom. */
const ABOUT: ReadonlySet<string> = new Set(
  'at on date time timestamp day month year quarter period week since until asof for of who whom name subject about by source'.split(
    ' ',
  ),
)
/** Maximum number of established scalars read, of repeated values judged, and of siblings read per value. */
const NAMES_MAX = 4000
const SAID_MAX = 64
const BESIDE_MAX = 64

/** Steps per gained object, and per key of it. */
const OBJECT_STEPS = 10
const KEY_STEPS = 20

interface NamedObject {
  readonly object: JsonObject
  readonly place: readonly Token[]
  readonly value: Json
  readonly key: string
}

export function* checkRestated(
  { before, gains, mode, trunk, isJudged }: RestatedInput,
  report: Report,
  pauses: Pauses,
): Yielding<void> {
  if (mode === 'off') return
  const objects: GainedObject[] = []
  for (const { place, value } of gains) if (isJsonObject(value)) addGained(objects, value, place)
  if (objects.length === 0) return
  pauses.count(OBJECT_STEPS * objects.length)
  if (pauses.due()) yield
  const names = establishedNames(before, { trunk, isJudged })
  let judged = 0
  for (const { object, place } of objects) {
    pauses.count(OBJECT_STEPS + KEY_STEPS * Object.keys(object).length)
    if (pauses.due()) yield
    if (place.some((token) => isRemote(`${token}`))) continue
    // One more than are looked at, because the key itself is not beside itself.
    const first = Object.keys(object).slice(0, BESIDE_MAX + 1)
    for (const key of Object.keys(object).toSorted()) {
      const known = names.get(nameOf(key))
      if (known === undefined || known === 'several' || !differs(known, key, object[key] as Json)) continue
      if (++judged > SAID_MAX) return
      const sure = isAboutTheSame(known, { object, place, others: first.filter((other) => other !== key) }, names)
      if (sure === undefined) continue
      addFinding(report, {
        rule: 'restated',
        severity: mode === 'reject' || (mode === 'sure' && sure) ? 'error' : 'warning',
        path: formatPointer([...place, key]),
        before: known.value,
        after: object[key] as Json,
        of: formatPointer(known.place),
        message: `is established at ${formatPointer(known.place)} with another value; say one of them, or what this one is about`,
      })
    }
  }
}

interface GainedObject {
  readonly object: JsonObject
  readonly place: readonly Token[]
}

/** Collects a gained object and the objects in it, but not list members, which are about separate things. */
function addGained(found: GainedObject[], object: JsonObject, place: readonly Token[]): void {
  if (place.some((token) => typeof token === 'number')) return
  found.push({ object, place })
  for (const key of Object.keys(object)) {
    const value = object[key] as Json
    if (isJsonObject(value) && soleQuantity(value) === undefined) addGained(found, value, [...place, key])
  }
}

type Names = ReadonlyMap<string, NamedObject | 'several'>

/** Specific names of scalars and quantities outside lists, with the one place of each name, or `several`. */
function establishedNames(before: JsonObject, { trunk, isJudged }: Pick<RestatedInput, 'trunk' | 'isJudged'>): Names {
  const names = new Map<string, NamedObject | 'several'>()
  const visit = (object: JsonObject, place: readonly Token[]): void => {
    for (const key of Object.keys(object)) {
      if (place.length <= trunk.length && !isJudged([...place, key]) && trunk[place.length] !== key) continue
      const value = object[key] as Json
      if (isJsonObject(value) && soleQuantity(value) === undefined) {
        visit(value, [...place, key])
        continue
      }
      if (value === null || Array.isArray(value) || names.size >= NAMES_MAX) continue
      const name = nameOf(key)
      if (name !== '') names.set(name, names.has(name) ? 'several' : { object, place: [...place, key], value, key })
    }
  }
  visit(before, [])
  return names
}

/** The words of a specific key without its unit; empty for a key that is too generic. */
function nameOf(key: string): string {
  const words = keyWords(key)
  const stem = words.length > 1 && isUnitWord(words.at(-1) ?? '') ? words.slice(0, -1) : words
  if (stem.length === 1 && (GENERIC.has(stem[0] ?? '') || (stem[0] ?? '').length < NAME_MIN_CHARS)) return ''
  return stem.every((word) => GENERIC.has(word)) ? '' : stem.join(' ')
}

function isUnitWord(word: string): boolean {
  return readUnit(word) !== undefined
}

function isRemote(key: string): boolean {
  return keyWords(key).some((word) => ELSEWHERE.has(word))
}

/** Whether the values differ. Only values of one kind can: numbers, texts, booleans, or quantities of one dimension. */
function differs(known: NamedObject, key: string, value: Json): boolean {
  const [before, after] = [quantityUnder(known.key, known.value), quantityUnder(key, value)]
  if (before !== undefined && after !== undefined) {
    return before.unit.dimension === after.unit.dimension && !isSameQuantity(before, after)
  }
  if (typeof value !== typeof known.value || typeof value === 'object') return false
  return !isSameScalar(known.value as Scalar, value, placeKind(known.key, false))
}

/**
 * True if both values are clearly about the same thing: a sibling of the new value repeats an established one, or the established value is
 * in an object around the new one. Undefined if a sibling says that the value is about something else.
 */
function isAboutTheSame(
  known: NamedObject,
  restated: GainedObject & { readonly others: readonly string[] },
  names: Names,
): boolean | undefined {
  const others = restated.others.slice(0, BESIDE_MAX)
  const repeats = others.some((key) => isRepeated(key, restated.object[key] as Json, { known, names }))
  if (repeats) return others.some((key) => ABOUT.has(keyWords(key).at(-1) ?? '') && key !== 'name') ? undefined : true
  if (others.some((key) => ABOUT.has(keyWords(key).at(-1) ?? '') || isReference(key))) return undefined
  const scope = known.place.slice(0, -1)
  return scope.length < restated.place.length && scope.every((token, i) => token === restated.place[i])
}

/** Whether a sibling repeats an established value: it has the same name and value, or it is the id of the established value's object. */
function isRepeated(
  key: string,
  value: Json,
  { known, names }: { readonly known: NamedObject; readonly names: Names },
): boolean {
  if (typeof value === 'object') return false
  if (isReference(key)) {
    return Object.keys(known.object)
      .slice(0, BESIDE_MAX)
      .some((other) => isReference(other) && known.object[other] === value)
  }
  const same = names.get(nameOf(key))
  return same !== undefined && same !== 'several' && typeof same.value === typeof value && !differs(same, key, value)
}
