/** @module Changes that are usual in an agent's own bookkeeping: suspect at most, and not reported if nothing contradicts them. */
import { keyWords } from '../../../../projections/key-words.ts'
import { isReference } from '../../../../projections/list-identity.ts'
import { plainText } from '../../../../projections/plain-text.ts'
import { isEqual, isJsonObject, type Json, type JsonObject } from '../../../../schemas/json.ts'
import { holderAt } from '../../../../schemas/json-pointer.ts'
import type { Change } from '../established/changes.ts'
import { readTime } from '../meaning/dates.ts'
import { isCountingKey } from '../meaning/rising.ts'
import { totalsBeside } from './derived.ts'

interface Documents {
  readonly before: JsonObject
  readonly after: JsonObject
}

/** Maximum number of siblings read, and of names collected from a context. */
const SIBLINGS_MAX = 64
const NAMES_MAX = 20_000

/** How usual a change is: `plainly`, or `perhaps`, which only means that it is not certain. Undefined for other changes. */
export type Usual = 'plainly' | 'perhaps'

/** Words that describe finished work. */
const DONE: ReadonlySet<string> = new Set(
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
      const isUsual = (after > before && isCountingKey(keyWords(key))) || hasMovedBeside(change, documents, known)
      return isUsual ? 'plainly' : undefined
    }
    // A member of a list of names is part of the list, not a reference.
    if (typeof place.at(-1) === 'number') return undefined
    if (typeof before !== 'string' || typeof after !== 'string' || isReference(key)) return undefined
    names ??= namesIn(documents.after)
    return names.has(before) && names.has(after) ? 'plainly' : undefined
  }
}

/** What is read of an object once, for all changes of its members. */
interface Beside {
  /** Keys of members that moved on: clocks that are later now, and logs that have grown. */
  readonly moved: ReadonlySet<string>
  readonly isTotal: (value: number) => boolean
  readonly lengths: ReadonlySet<number>
}

/** Whether a sibling moved on, and the number did not break with a total or a count. */
function hasMovedBeside(
  { place, afterPlace, before }: Change,
  documents: Documents,
  known: Map<JsonObject, Beside>,
): boolean {
  const [was, is] = [holderAt(documents.before, place), holderAt(documents.after, afterPlace ?? place)]
  if (was === undefined || is === undefined) return false
  const beside = known.get(was) ?? besideIn(was, is)
  known.set(was, beside)
  const { moved, isTotal, lengths } = beside
  const key = `${place.at(-1)}`
  if (moved.size > 0 && typeof before === 'number') {
    if (isTotal(before) || (saysCount(key) && lengths.has(before))) return false
  }
  return moved.size > (moved.has(key) ? 1 : 0)
}

function besideIn(was: JsonObject, is: JsonObject): Beside {
  const moved = movedKeys(was, is)
  if (moved.size === 0) return { moved, isTotal: () => false, lengths: new Set() }
  const lists = Object.values(was).filter((value) => Array.isArray(value))
  return { moved, isTotal: totalsBeside(was), lengths: new Set(lists.map(({ length }) => length)) }
}

const COUNTS: ReadonlySet<string> = new Set(['count', 'counts', 'number', 'num', 'total'])

function saysCount(key: string): boolean {
  return keyWords(key).some((word) => COUNTS.has(word))
}

function movedKeys(was: JsonObject, is: JsonObject): ReadonlySet<string> {
  const keys = Object.keys(was).slice(0, SIBLINGS_MAX)
  return new Set(keys.filter((key) => Object.hasOwn(is, key) && hasMovedOn(was[key] as Json, is[key] as Json)))
}

function hasMovedOn(before: Json, after: Json): boolean {
  if (before === after) return false
  if (typeof before === 'string' && typeof after === 'string') {
    const [was, is] = [readTime(plainText(before)), readTime(plainText(after))]
    return was !== undefined && was.kind === is?.kind && was.kind !== 'day' && is.ms > was.ms
  }
  if (!Array.isArray(before) || !Array.isArray(after) || after.length <= before.length) return false
  return before.every((member, i) => isEqual(member as Json, after[i] as Json))
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
