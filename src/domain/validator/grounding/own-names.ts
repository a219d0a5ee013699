/** @module The name under which a call may ask for a row of a context: the row's own identity key and its value, whatever the list is called. */
import { identityCandidates } from '../../../../projections/list-identity.ts'
import { plainLower } from '../../../../projections/plain-text.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../../schemas/json.ts'
import { valueAt } from '../../../../schemas/json-pointer.ts'
import type { Row, RowName } from './read-rows.ts'

const NAME_MAX_CHARS = 128
/** Maximum number of arguments read as names, of keys of a member tried, and of members read of a list. */
const ARGUMENTS_MAX = 16
const KEYS_MAX = 16
const MEMBERS_MAX = 10_000

export type ArgumentName = readonly [key: string, text: string]

/** The text of a key and its value; undefined for a value that names nothing. */
export function ownNameText(key: string, value: Json | undefined): string | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  const text = plainLower(`${value}`)
  return text === '' || text.length > NAME_MAX_CHARS ? undefined : `${key}=${text}`
}

/** The scalar arguments of a call, each with its key; none if there are more than the limit. */
export function argumentNames(args: JsonObject): readonly ArgumentName[] {
  const names = Object.entries(args).flatMap(([key, value]): ArgumentName[] => {
    const text = ownNameText(key, value as Json)
    return text === undefined ? [] : [[key, text]]
  })
  return names.length > ARGUMENTS_MAX ? [] : names
}

/** The own names of the rows of a context. A name that two rows have is none. */
export function ownNamesIn(context: JsonObject, rows: Iterable<Row>): ReadonlyMap<Row, readonly RowName[]> {
  const distinct = new Map<readonly Json[], readonly string[]>()
  const byText = new Map<string, { readonly row: Row; readonly rel: string } | undefined>()
  for (const row of rows) {
    for (const rel of ownKeysOf(row, context, distinct)) {
      const text = ownNameText(rel, row.object[rel])
      if (text !== undefined) byText.set(text, byText.has(text) ? undefined : { row, rel })
    }
  }
  const names = new Map<Row, RowName[]>()
  for (const [text, named] of byText)
    if (named !== undefined) names.set(named.row, [...(names.get(named.row) ?? []), { text, rel: named.rel }])
  return names
}

/** The key by which the row goes; in a list without usual ids, each key under which all members have values of their own. */
function ownKeysOf(
  { object, key, place }: Row,
  context: JsonObject,
  distinct: Map<readonly Json[], readonly string[]>,
): readonly string[] {
  const [identity] = identityCandidates([object], key)
  if (identity !== undefined) return identity.keys.length === 1 ? identity.keys : []
  if (typeof place.at(-1) !== 'number') return []
  const list = valueAt(context, place.slice(0, -1).map(String))
  if (!Array.isArray(list) || list.length > MEMBERS_MAX || list.length < 2) return []
  const keys = distinct.get(list) ?? distinctKeys(list)
  distinct.set(list, keys)
  return keys
}

function distinctKeys(list: readonly Json[]): readonly string[] {
  const [first] = list
  if (first === undefined || !isJsonObject(first)) return []
  return Object.keys(first)
    .slice(0, KEYS_MAX)
    .filter((key) => {
      const texts = new Set(list.map((member) => (isJsonObject(member) ? ownNameText(key, member[key]) : undefined)))
      return texts.size === list.length && !texts.has(undefined)
    })
}
