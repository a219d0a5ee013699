/** @module Changes that are usual in an agent's own bookkeeping: suspect at most, and not reported if nothing contradicts them. */
import { keyWords } from '../../../../projections/key-words.ts'
import { isReference } from '../../../../projections/list-identity.ts'
import { plainText } from '../../../../projections/plain-text.ts'
import { isEqual, isJsonObject, type Json, type JsonObject } from '../../../../schemas/json.ts'
import { holderAt } from '../../../../schemas/json-pointer.ts'
import type { Change } from '../established/changes.ts'
import { readTime } from '../meaning/dates.ts'
import { placeKind } from '../meaning/place-kind.ts'
import { isCountingKey, isLimitKey, isReadingTimeKey } from '../meaning/rising.ts'
import { totalsBeside } from './derived.ts'

interface Documents {
  readonly before: JsonObject
  readonly after: JsonObject
}

/** Maximum number of siblings read, and of names collected from a context. */
const SIBLINGS_MAX = 64
const NAMES_MAX = 20_000
/** Maximum number of numbers read in what was added to the lists of an object. */
const NUMBERS_MAX = 4096

/** How usual a change is: `plainly`, or `perhaps`, which only means that it is not certain. Undefined for other changes. */
export type Usual = 'plainly' | 'perhaps'

/** Words that describe finished work. */
export const DONE: ReadonlySet<string> = new Set(
  (
    'done completed complete finished started begun approved signed ready reviewed submitted sent paid delivered notified resolved closed opened processed verified checked ' +
    'confirmed visited published merged deployed shipped booked acknowledged received uploaded unlocked'
  ).split(' '),
)

export function weaklyIn(documents: Documents): (change: Change) => Usual | undefined {
  let names: ReadonlySet<string> | undefined
  const known = new Map<JsonObject, Beside>()
  return (change) => {
    const { kind, place, before, after } = change
    if (kind !== 'changed') return undefined
    const key = `${place.findLast((token) => typeof token === 'string') ?? ''}`
    if (before === false && after === true) return DONE.has(keyWords(key).at(-1) ?? '') ? 'plainly' : 'perhaps'
    if (typeof before === 'number' && typeof after === 'number') {
      const isCounted = after > before && isCountingKey(keyWords(key))
      return isCounted || isReadAnew(change, [before, after], { documents, known }) ? 'plainly' : undefined
    }
    // A member of a list of names is part of the list, not a reference.
    if (typeof place.at(-1) === 'number') return undefined
    if (typeof before !== 'string' || typeof after !== 'string' || isReference(key)) return undefined
    if (isReadingTimeKey(keyWords(key)) && isLaterTime(before, after)) return 'plainly'
    names ??= namesIn(documents.after)
    return names.has(before) && names.has(after) ? 'plainly' : undefined
  }
}

/** What is read of an object once, for all changes of its members. */
interface Beside {
  /** Whether a clock beside is later now. */
  readonly isLater: boolean
  /** Numbers in what was added at the end of lists beside. */
  readonly added: ReadonlySet<number>
  readonly isTotal: (value: number) => boolean
  readonly lengths: ReadonlySet<number>
}

/** A reading changes by less than this factor from one time to the next. */
const FACTOR_MAX = 10

/** Whether the number is a new reading: a clock beside is later, or a list beside gained the number or its difference; and no total or count breaks. */
function isReadAnew(
  { place, afterPlace }: Change,
  [before, after]: readonly [number, number],
  { documents, known }: { readonly documents: Documents; readonly known: Map<JsonObject, Beside> },
): boolean {
  const { isCode, words, unit } = placeKind(`${place.at(-1)}`, false)
  // The last word of `delay_min` is a unit.
  const isLimit = isLimitKey(unit === undefined ? words : words.slice(0, -1))
  if (isCode || isLimit || !isNear(before, after)) return false
  const [was, is] = [holderAt(documents.before, place), holderAt(documents.after, afterPlace ?? place)]
  if (was === undefined || is === undefined) return false
  const beside = known.get(was) ?? besideIn(was, is)
  known.set(was, beside)
  const { isLater, added, isTotal, lengths } = beside
  if (!isLater && !added.has(after) && !added.has(rounded(Math.abs(after - before)))) return false
  return !isTotal(before) && !(saysCount(words) && lengths.has(before))
}

/** Whether two numbers have one sign and one order of magnitude; 0 is near to every number. */
function isNear(a: number, b: number): boolean {
  if (a === 0 || b === 0) return true
  return a > 0 === b > 0 && Math.max(a / b, b / a) < FACTOR_MAX
}

function rounded(number: number): number {
  return Number(number.toPrecision(12))
}

function besideIn(was: JsonObject, is: JsonObject): Beside {
  let isLater = false
  const added = new Set<number>()
  for (const key of Object.keys(was).slice(0, SIBLINGS_MAX)) {
    if (!Object.hasOwn(is, key)) continue
    const [before, after] = [was[key] as Json, is[key] as Json]
    isLater ||= isLaterTime(before, after)
    addNumbers(addedAtEnd(before, after), added)
  }
  if (!isLater && added.size === 0) return { isLater, added, isTotal: () => false, lengths: new Set() }
  const lists = Object.values(was).filter((value) => Array.isArray(value))
  return { isLater, added, isTotal: totalsBeside(was), lengths: new Set(lists.map(({ length }) => length)) }
}

/** The numbers of the members, and of the objects and lists that these hold. */
function addNumbers(members: readonly Json[], found: Set<number>): void {
  const waiting: Json[] = [...members]
  for (let value = waiting.pop(); value !== undefined && found.size < NUMBERS_MAX; value = waiting.pop()) {
    if (typeof value === 'number') found.add(rounded(value))
    else if (typeof value === 'object' && value !== null) waiting.push(...(Object.values(value) as Json[]))
  }
}

const COUNTS: ReadonlySet<string> = new Set(['count', 'counts', 'num', 'total'])

function saysCount(words: readonly string[]): boolean {
  return words.some((word) => COUNTS.has(word))
}

function isLaterTime(before: Json, after: Json): boolean {
  if (typeof before !== 'string' || typeof after !== 'string') return false
  const [was, is] = [readTime(plainText(before)), readTime(plainText(after))]
  return was !== undefined && was.kind === is?.kind && was.kind !== 'day' && is.ms > was.ms
}

/** The new members of a list that keeps the others in their order. */
function addedAtEnd(before: Json, after: Json): readonly Json[] {
  if (!Array.isArray(before) || !Array.isArray(after) || after.length <= before.length) return []
  const isKept = before.every((member, i) => isEqual(member as Json, after[i] as Json))
  return isKept ? (after.slice(before.length) as readonly Json[]) : []
}

/** Names in a context: values of references and of names, and keys of objects that contain only objects. */
function namesIn(context: JsonObject): ReadonlySet<string> {
  const names = new Set<string>()
  const waiting: Json[] = [context]
  for (let value = waiting.pop(); value !== undefined && names.size < NAMES_MAX; value = waiting.pop()) {
    if (Array.isArray(value)) {
      for (const member of value) if (typeof member === 'object' && member !== null) waiting.push(member as Json)
      continue
    }
    const holder = value as JsonObject
    const keys = Object.keys(holder)
    const isMap = keys.length > 1 && keys.every((key) => isJsonObject(holder[key] as Json))
    for (const key of keys) {
      const member = holder[key]
      if (isMap) names.add(key)
      if (typeof member === 'string') {
        if (isReference(key)) names.add(member)
      } else if (typeof member === 'object' && member !== null) waiting.push(member)
    }
  }
  return names
}
