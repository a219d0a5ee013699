/**
 * @module The objects of a value as rows: each with the names it is known by and its leaves, objects inside it that are no things of their own
 * laid flat. Results of tools and contexts are read alike, so that a row of one is found in the other.
 */
import { keyWords, singular } from '../../../../projections/key-words.ts'
import { identityCandidates, identityText, isReference } from '../../../../projections/list-identity.ts'
import { plainLower } from '../../../../projections/plain-text.ts'
import { sortedKeys } from '../../../../projections/set-text.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../../schemas/json.ts'
import type { Token } from '../../../../schemas/json-pointer.ts'
import type { Scalar } from '../meaning/scalars.ts'

export interface RowName {
  readonly text: string
  /** The member that says it; undefined where the row stands under it as its key. */
  readonly rel: string | undefined
}

export interface Row {
  /** Where the object is in the value that is read. */
  readonly place: readonly Token[]
  readonly object: JsonObject
  /** The key it stands under; for a member of a list, that of the list. */
  readonly key: string
  readonly names: readonly RowName[]
  readonly parent: Row | undefined
  /** Paths of the leaves from the row on, joined by `/`, in an order of their own. */
  readonly rels: string[]
  readonly values: Scalar[]
  readonly lists: { readonly rel: string; readonly list: readonly Json[] }[]
}

/** Leaves of one row that are looked at. */
const ROW_LEAVES_MAX = 256
/** A longer path is no name that a tool and an agent share. */
export const REL_MAX_CHARS = 1024
const NAMES_MAX = 4
const NAME_MAX_CHARS = 128
const DISTINCTIVE_MIN_CHARS = 4

/** Outer rows before those inside them, one at a time, however deep they stand. */
export function* rowsIn(value: Json): Generator<Row, void, void> {
  const waiting: Inside[] = [{ value, place: [], key: '', mapKey: undefined, parent: undefined }]
  for (let inside = waiting.pop(); inside !== undefined; inside = waiting.pop()) {
    if (Array.isArray(inside.value)) waitForMembers(waiting, inside)
    else if (isJsonObject(inside.value)) yield readRow(waiting, inside.value, inside)
  }
}

interface Inside {
  readonly value: Json
  readonly place: readonly Token[]
  readonly key: string
  /** Where the object stands under a key that may be its name: that key. */
  readonly mapKey: string | undefined
  readonly parent: Row | undefined
}

/** The first is taken from the end. */
function waitForMembers(waiting: Inside[], { value, place, key, parent }: Inside): void {
  const list = value as readonly Json[]
  for (let i = list.length - 1; i >= 0; i--) {
    const member = list[i] as Json
    if (typeof member !== 'object' || member === null) continue
    waiting.push({ value: member, place: [...place, i], key, mapKey: undefined, parent })
  }
}

function readRow(waiting: Inside[], object: JsonObject, at: Inside): Row {
  const row: Row = {
    place: at.place,
    object,
    key: at.key,
    names: namesOf(object, at.key, at.mapKey),
    parent: at.parent,
    rels: [],
    values: [],
    lists: [],
  }
  const below: Below[] = []
  layFlat(row, object, { path: [], before: '', key: at.key, below })
  const parent = row.names.length > 0 ? row : (at.parent ?? row)
  for (let i = below.length - 1; i >= 0; i--) {
    const { path, value, key, mapKey } = below[i] as Below
    waiting.push({ value, place: [...at.place, ...path], key, mapKey, parent })
  }
  return row
}

interface Below extends Omit<Inside, 'parent' | 'place'> {
  readonly path: readonly Token[]
}

interface Laying {
  readonly path: readonly string[]
  /** What the paths of its leaves begin with. */
  readonly before: string
  readonly key: string
  readonly below: Below[]
}

function layFlat(row: Row, object: JsonObject, { path, before, key: above, below }: Laying): void {
  const isMap = mapOfThings(object, above)
  for (const key of sortedKeys(object)) {
    const value = object[key] as Json
    const rel = before + key
    if (Array.isArray(value)) {
      if (rel.length <= REL_MAX_CHARS) row.lists.push({ rel, list: value })
      below.push({ path: [...path, key], value, key, mapKey: undefined })
    } else if (!isJsonObject(value)) {
      if (value === null || row.rels.length >= ROW_LEAVES_MAX || rel.length > REL_MAX_CHARS) continue
      row.rels.push(rel)
      row.values.push(value as Scalar)
    } else if (isDistinctive(key) || Object.keys(value).some(isReference) || isMap()) {
      // Under `order` stands whichever order it is; under `orders` or `NO6JO3` the key names it.
      const mapKey = isDistinctive(key) || isMap() ? key : undefined
      below.push({ path: [...path, key], value, key: isDistinctive(key) ? above : key, mapKey })
    } else layFlat(row, value, { path: [...path, key], before: `${rel}/`, key, below })
  }
}

/** Whether the members of an object are things of one kind, as under `orders`; looked up once, and only when asked. */
function mapOfThings(object: JsonObject, key: string): () => boolean {
  let answer: boolean | undefined
  return () => {
    const word = keyWords(key).at(-1) ?? ''
    answer ??= singular(word) !== word && Object.values(object).every((each) => isJsonObject(each as Json))
    return answer
  }
}

/** `NO6JO3`, `mia_li_3668`: one thing, wherever it is named. */
function isDistinctive(text: string): boolean {
  return text.length >= DISTINCTIVE_MIN_CHARS && /\d/.test(text) && /[a-z]/i.test(text) && !text.includes(' ')
}

function namesOf(object: JsonObject, key: string, mapKey: string | undefined): readonly RowName[] {
  const names: RowName[] = []
  const what = singular(keyWords(key).at(-1) ?? '')
  if (mapKey !== undefined && mapKey.length <= NAME_MAX_CHARS) {
    const text = plainLower(mapKey)
    if (isDistinctive(text)) names.push({ text, rel: undefined })
    else if (what !== '') names.push({ text: `${what}#${text}`, rel: undefined })
  }
  for (const identity of identityCandidates([object], key)) {
    if (names.length >= NAMES_MAX) break
    const { keys, isStrong } = identity
    if (!isStrong && !keys.every(isReference)) continue
    const text = keys.length === 1 ? nameBy(keys[0] as string, object, what) : pairName(object, keys)
    if (text !== undefined) names.push({ text, rel: keys[0] })
  }
  return names
}

function pairName(object: JsonObject, keys: readonly string[]): string | undefined {
  const text = identityText(object, { keys, isStrong: true, isComplete: false })
  return text === undefined || text.length > 2 * NAME_MAX_CHARS ? undefined : `${keys.join('|')}#${text}`
}

function nameBy(key: string, object: JsonObject, what: string): string | undefined {
  const value = object[key]
  if ((typeof value !== 'string' && typeof value !== 'number') || `${value}`.length > NAME_MAX_CHARS) return undefined
  const text = plainLower(`${value}`)
  if (text === '') return undefined
  if (isDistinctive(text)) return text
  const scope = keyWords(key).slice(0, -1).join(' ') || what
  return scope === '' ? undefined : `${scope}#${text}`
}
