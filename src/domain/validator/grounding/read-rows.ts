/**
 * @module Reads the objects of a value as rows, each with its names and its leaves; nested objects that are no separate things are
 * flattened into their row. Tool results and contexts are read alike, so that a row of one is found in the other.
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
  /** The member that holds the name; undefined if the name is the key of the row. */
  readonly rel: string | undefined
}

export interface Row {
  /** Place of the object in the value that is read. */
  readonly place: readonly Token[]
  readonly object: JsonObject
  /** The key of the object; for a list member, the key of the list. */
  readonly key: string
  readonly names: readonly RowName[]
  readonly parent: Row | undefined
  /** Paths of the leaves relative to the row, joined by `/`, in key order. */
  readonly rels: string[]
  readonly values: Scalar[]
  readonly lists: { readonly rel: string; readonly list: readonly Json[] }[]
}

/** Maximum number of leaves read per row. */
const ROW_LEAVES_MAX = 256
/** Maximum length of a path, in characters; a tool and an agent do not share longer ones. */
export const REL_MAX_CHARS = 1024
const NAMES_MAX = 4
const NAME_MAX_CHARS = 128
const DISTINCTIVE_MIN_CHARS = 4

/** The last key of a path relative to a row. */
export function lastKey(rel: string): string {
  return rel.slice(rel.lastIndexOf('/') + 1)
}

/** Yields outer rows before inner ones, one at a time, at any depth. */
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
  /** The key of the object, if it may be the object's name. */
  readonly mapKey: string | undefined
  readonly parent: Row | undefined
}

/** Pushes the members in reverse order, because values are taken from the end. */
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
  /** Prefix of the paths of its leaves. */
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
      // The key `order` does not identify the order under it, whereas `NO6JO3`, or a key below `orders`, names it.
      const mapKey = isDistinctive(key) || isMap() ? key : undefined
      below.push({ path: [...path, key], value, key: isDistinctive(key) ? above : key, mapKey })
    } else layFlat(row, value, { path: [...path, key], before: `${rel}/`, key, below })
  }
}

/** Whether the members of an object are things of one kind, as under `orders`; computed on the first call. */
function mapOfThings(object: JsonObject, key: string): () => boolean {
  let answer: boolean | undefined
  return () => {
    const word = keyWords(key).at(-1) ?? ''
    answer ??= singular(word) !== word && Object.values(object).every((each) => isJsonObject(each as Json))
    return answer
  }
}

/** Whether a text identifies one thing wherever it occurs: `NO6JO3`, `mia_li_3668`. */
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
