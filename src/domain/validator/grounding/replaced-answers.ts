/** @module Finds changes within a whole tool answer that was replaced by the next answer to the same question (JUD-36). */
import { keyWords, singular } from '../../../../projections/key-words.ts'
import { isReference } from '../../../../projections/list-identity.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../../schemas/json.ts'
import { valuesOn } from '../../../../schemas/json-pointer.ts'
import type { Pauses, Yielding } from '../../yielding.ts'
import type { Change } from '../established/changes.ts'
import { type Answers, replacing, shapeHash, wholeHash } from './answers.ts'
import { hashScalar, type KnownHashes } from './hash.ts'
import type { IsTrusted } from './trusted-tools.ts'

const PLACE_STEPS = 5
/** Minimum length of a text that is specific; a shorter text or a number may be equal by coincidence. */
const TELLING_MIN_CHARS = 40

export interface Documents {
  readonly before: JsonObject
  readonly after: JsonObject
  readonly changes: readonly Change[]
}

/** The latest answer to a question. */
interface Answered {
  readonly tool: string
  readonly revision: number
}

type Replaced = { readonly after: Json; readonly by: Answered | undefined }

interface Search {
  readonly answers: Answers
  readonly isTrusted: IsTrusted
  readonly hashes: KnownHashes
  readonly pauses: Pauses
  readonly known: Map<object, Replaced>
}

/** The answers that explain the changes. */
export function* replacedAnswers(
  answers: Answers,
  { before, after, changes }: Documents,
  { isTrusted, pauses }: { readonly isTrusted: IsTrusted; readonly pauses: Pauses },
): Yielding<ReadonlyMap<Change, Answered>> {
  const found = new Map<Change, Answered>()
  if (answers.questions.size === 0) return found
  const search = { answers, isTrusted, hashes: new Map(), pauses, known: new Map() }
  for (const change of changes) {
    if (change.kind === 'duplicate' || change.kind === 'shadow') continue
    const by = yield* replacedAround(change, [before, after], search)
    if (by !== undefined) found.set(change, by)
    if (pauses.due()) yield
  }
  return found
}

/** Searches from the place of the change outwards. */
function* replacedAround(
  change: Change,
  documents: readonly [Json, Json],
  search: Search,
): Yielding<Answered | undefined> {
  const { place, afterPlace = place } = change
  const [was, is] = [valuesOn(documents[0], place).slice(1), valuesOn(documents[1], afterPlace).slice(1)]
  search.pauses.count(PLACE_STEPS * was.length)
  for (let depth = Math.min(was.length, is.length); depth >= 1; depth -= 1) {
    const pair = [was[depth - 1] as Json, is[depth - 1] as Json] as const
    const by = yield* replacedBy(pair, `${place[depth - 1]}`, search)
    if (by !== undefined) return by
  }
  return undefined
}

function* replacedBy([was, is]: readonly [Json, Json], key: string, search: Search): Yielding<Answered | undefined> {
  if (typeof was !== 'object' || was === null) return yield* judged([was, is], key, search)
  const known = search.known.get(was)
  if (known !== undefined && known.after === is) return known.by
  const by = yield* judged([was, is], key, search)
  search.known.set(was, { after: is, by })
  return by
}

function* judged([was, is]: readonly [Json, Json], key: string, search: Search): Yielding<Answered | undefined> {
  const { answers, isTrusted, hashes, pauses } = search
  const { seed, shapes } = answers
  if (Array.isArray(was) !== Array.isArray(is) || isJsonObject(was) !== isJsonObject(is)) return undefined
  if (!shapes.has(shapeHash(seed, was)) || !shapes.has(shapeHash(seed, is))) return undefined
  const before = yield* wholeHash(seed, was, { hashes, pauses })
  if (!answers.byValue.has(before)) return undefined
  const after = yield* wholeHash(seed, is, { hashes, pauses })
  const found = replacing(answers, { before, after, isTrusted })
  if (found === undefined || isOther(was, is, seed)) return undefined
  return isTelling(was) || isNamedAfter(key, found.tool) ? found : undefined
}

/** Whether two objects are about different things, by their references. Members of lists may be added or removed. */
function isOther(was: Json, is: Json, seed: number): boolean {
  if (!isJsonObject(was) || !isJsonObject(is)) return false
  return Object.keys(was).some((key) => {
    const [a, b] = [was[key] as Json, is[key]]
    if (b === undefined) return false
    if (typeof a === 'object' || typeof b === 'object') return isOther(a, b, seed)
    return isReference(key) && hashScalar(seed, key, a) !== hashScalar(seed, key, b)
  })
}

/** Whether the value is so specific that another thing is unlikely to have the same value. */
function isTelling(value: Json): boolean {
  if (typeof value === 'string') return value.length >= TELLING_MIN_CHARS
  return typeof value === 'object' && value !== null && hasLeaves(value, 2)
}

function hasLeaves(value: Json, atLeast: number): boolean {
  let remaining = atLeast
  const waiting: Json[] = [value]
  for (let next = waiting.pop(); next !== undefined && remaining > 0; next = waiting.pop()) {
    if (typeof next !== 'object' || next === null) remaining -= 1
    else for (const each of Object.values(next).slice(0, atLeast)) waiting.push(each as Json)
  }
  return remaining <= 0
}

/** Whether the key is named in the tool's name: `weather` in `get_weather`. */
function isNamedAfter(key: string, tool: string): boolean {
  const words = new Set(keyWords(tool).map(singular))
  const own = keyWords(key).map(singular)
  return own.length > 0 && own.every((word) => words.has(word))
}
