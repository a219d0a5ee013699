/** @module Members that left one list for a list beside it that holds finished work: from `steps_left` to `steps_done`. */
import { keyWords } from '../../../../projections/key-words.ts'
import { isEqual, isJsonObject, type Json, type JsonObject } from '../../../../schemas/json.ts'
import { holderAt } from '../../../../schemas/json-pointer.ts'
import type { Change } from '../established/changes.ts'
import { isCountingKey } from '../meaning/rising.ts'
import { canonicalText } from '../report.ts'
import { DONE } from './weak.ts'

/** Maximum number of members read of the lists of an object, and of objects compared member by member. */
const MEMBERS_MAX = 4000
const COMPARED_MAX = 64

interface Documents {
  readonly before: JsonObject
  readonly after: JsonObject
}

/** What lists of finished work beside gained, by its text; each is the counterpart of one. */
type Gained = Map<string, Json[]>

/** Returns a check for single changes; it is asked once for each. */
export function workedOffIn(documents: Documents): (change: Change) => boolean {
  const known = new Map<JsonObject, Gained>()
  return ({ kind, place, before }) => {
    if (kind !== 'removed' || typeof place.at(-1) !== 'number' || place.length < 2) return false
    const list = place.slice(0, -1)
    const [was, is] = [holderAt(documents.before, list), holderAt(documents.after, list)]
    if (was === undefined || is === undefined) return false
    const gained = known.get(was) ?? gainedIn(was, is, `${list.at(-1)}`)
    known.set(was, gained)
    return take(gained, before)
  }
}

function gainedIn(was: JsonObject, is: JsonObject, but: string): Gained {
  const gained: Gained = new Map()
  let read = 0
  for (const key of Object.keys(is)) {
    const [then, now] = [Object.hasOwn(was, key) ? was[key] : undefined, is[key]]
    if (key === but || !Array.isArray(now) || !isFinished(keyWords(key))) continue
    const old = (Array.isArray(then) ? then : []) as readonly Json[]
    read += now.length + old.length
    if (read > MEMBERS_MAX) break
    const kept = Map.groupBy(old, canonicalText)
    for (const member of now as readonly Json[]) {
      const text = canonicalText(member)
      if (kept.get(text)?.pop() === undefined) gained.set(text, [...(gained.get(text) ?? []), member])
    }
  }
  return gained
}

function isFinished(words: readonly string[]): boolean {
  return DONE.has(words.at(-1) ?? '') || DONE.has(words[0] ?? '') || isCountingKey(words)
}

/** Takes the member itself, or an object that holds whatever it held and more. */
function take(gained: Gained, member: Json): boolean {
  const exact = canonicalText(member)
  const found = gained.has(exact) ? exact : richer(gained, member)
  if (found === undefined) return false
  const left = gained.get(found)?.slice(1) ?? []
  if (left.length === 0) gained.delete(found)
  else gained.set(found, left)
  return true
}

function richer(gained: Gained, member: Json): string | undefined {
  if (!isJsonObject(member) || gained.size > COMPARED_MAX) return undefined
  const keys = Object.keys(member)
  for (const [text, [now]] of gained) {
    if (now === undefined || !isJsonObject(now) || keys.length < 2) continue
    if (keys.every((key) => Object.hasOwn(now, key) && isEqual(member[key] as Json, now[key] as Json))) return text
  }
  return undefined
}
