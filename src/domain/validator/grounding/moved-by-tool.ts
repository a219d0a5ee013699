/** @module Permits a change that matches a later tool result: the same thing, the same path below it, and exactly the new value (JUD-19). */
import { keyWords, singular } from '../../../../projections/key-words.ts'
import type { Finding } from '../../../../schemas/finding.ts'
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import { isJsonObject } from '../../../../schemas/json.ts'
import { formatPointer, type Token, valuesOn } from '../../../../schemas/json-pointer.ts'
import type { Pauses, Yielding } from '../../yielding.ts'
import type { Change, Excuse, Gain } from '../established/changes.ts'
import type { Evidence } from '../evidence.ts'
import type { Scalar } from '../meaning/scalars.ts'
import { sinceAt } from './established-since.ts'
import { hashLongList, hashValue } from './hash.ts'
import { ownNamesIn } from './own-names.ts'
import { lastKey, REL_MAX_CHARS, type Row, type RowName, rowsIn } from './read-rows.ts'
import { type Documents, replacedAnswers } from './replaced-answers.ts'
import type { RecordedRow } from './row-index.ts'
import { isRecordedWhole, type Lookup, lookupIn, sameRows, wholeRows } from './same-row.ts'
import type { Tools } from './trusted-tools.ts'

/** Steps per row that is read, per change that is looked up in a row, and per value on a path. */
const ROW_STEPS = 30
const HOLDING_STEPS = 20
const PLACE_STEPS = 5
const LONG_LIST = 256

/** Returns a check whether an added object is, as a whole, a tool's answer that names its subject. The evidence must be settled. */
export function recordedGain(
  { results }: Evidence,
  { isTrusted }: Tools,
  pauses: Pauses,
): ((gain: Gain) => Yielding<boolean>) | undefined {
  const { index } = results
  if (index === undefined || index.size === 0) return undefined
  const lookup = lookupIn(index, isTrusted, pauses)
  return function* ({ place, value }) {
    if (!isJsonObject(value)) return false
    for (const row of rowsIn(underKeys(place, value))) {
      // The row is the object itself, with the keys above it; later rows are inside it.
      if (row.place.length > place.length) return false
      if (row.place.length < place.length) continue
      yield* hashLists(row, lookup)
      return isRecordedWhole(lookup, row)
    }
    return false
  }
}

/** Wraps a value in the keys of its place. An index becomes a one-member list, because a member is found under the key of its list. */
function underKeys(place: readonly Token[], value: Json): Json {
  return place.reduceRight<Json>((inner, token) => (typeof token === 'number' ? [inner] : { [token]: inner }), value)
}

/** Hashes long lists in pieces before they are compared. */
function* hashLists({ lists }: Row, { index, hashes, pauses }: Lookup): Yielding<void> {
  for (const { rel, list } of lists) {
    if (list.length < LONG_LIST || hashes.has(list)) continue
    yield* hashLongList({ seed: index.seed, key: lastKey(rel), list }, hashes, pauses)
  }
}

/** Returns the excuse for changes that a tool's answer permits. The evidence must be settled. */
export function* movedByTool(
  { results }: Evidence,
  documents: Documents & { readonly tools: Tools },
  pauses: Pauses,
): Yielding<Excuse | undefined> {
  const { index, since } = results
  if (index === undefined) return undefined
  const { after, tools } = documents
  const rows = new Map<JsonObject, Row>()
  for (const row of rowsIn(after)) {
    rows.set(row.object, row)
    pauses.count(ROW_STEPS + row.rels.length)
    if (pauses.due()) yield
  }
  const lookup = lookupIn(index, tools.isTrusted, pauses, ownNamesIn(after, rows.values()))
  for (const row of rows.values()) yield* hashLists(row, lookup)
  const search = { lookup, tools, rows, after, known: new Map() }
  const replaced = yield* replacedAnswers(results.answers, documents, { isTrusted: tools.isTrusted, pauses })
  return (change) => {
    if (change.kind === 'duplicate' || change.kind === 'shadow') return undefined
    const standsSince = sinceAt(since, change.place)
    const source = sourceOf(change, { ...search, since: standsSince })
    if (source !== undefined) return note(change, source)
    const { revision, tool } = replaced.get(change) ?? { revision: -1, tool: '' }
    return revision > standsSince && tools.moves(tool, change.place) ? note(change, { revision }) : undefined
  }
}

interface Search {
  readonly lookup: Lookup
  readonly tools: Tools
  readonly rows: ReadonlyMap<JsonObject, Row>
  readonly after: JsonObject
  /** Cache of the recorded rows of each row, by the name that is excluded from the look-up. */
  readonly known: Map<Row, Map<string | undefined, readonly RecordedRow[]>>
  /** Revision of the event that established the value. */
  readonly since: number
}

function sourceOf(change: Change, search: Search): RecordedRow | undefined {
  // A removed value shows in its container: a list or an object without it.
  const place = change.afterPlace ?? change.place.slice(0, -1)
  const values = valuesOn(search.after, place)
  search.lookup.pauses.count(PLACE_STEPS * values.length)
  for (let end = values.length - 1; end >= 1; end--) {
    const row = search.rows.get(values[end] as JsonObject)
    if (row === undefined) continue
    for (let to = values.length - 1; to > end; to--) {
      const value = values[to] as Json
      if (isJsonObject(value)) continue
      const rel = relOf(place, end, to)
      const source =
        rel === undefined
          ? undefined
          : holding(row, { rel, key: `${place[to - 1]}`, value, place: change.place }, search)
      if (source !== undefined) return source
    }
  }
  return undefined
}

/** The path relative to a row; undefined if it is longer than any recorded path. */
function relOf(place: readonly Token[], end: number, to: number): string | undefined {
  let rel = `${place[end]}`
  for (let i = end + 1; i < to && rel.length <= REL_MAX_CHARS; i++) rel += `/${place[i]}`
  return rel.length > REL_MAX_CHARS ? undefined : rel
}

interface HeldMember {
  readonly place: readonly Token[]
  readonly rel: string
  readonly key: string
  readonly value: Scalar | readonly Json[]
}

/** The latest recorded row about the same thing that has a value at the path, if that value is exactly the new one. */
function holding(row: Row, { place, rel, key, value }: HeldMember, search: Search): RecordedRow | undefined {
  const { lookup, tools, since } = search
  const { index, hashes } = lookup
  const isList = typeof value === 'object' && value !== null
  const recordedRel = isList ? `${rel}[]` : rel
  const known = knownRows(search, row, rel)
  lookup.pauses.count(HOLDING_STEPS + known.length)
  const candidates = known.filter(
    (each) => each.hashOf(recordedRel) !== undefined && each.isAddressed && tools.moves(each.tool, place),
  )
  let latest: RecordedRow | undefined
  for (const each of candidates) if (each.revision >= (latest?.revision ?? 0)) latest = each
  if (latest === undefined || latest.revision <= since) return undefined
  const hash = isList ? hashValue(index.seed, key, value, hashes) : index.leafHash(rel, value)
  // Several rows with one name in one result cannot be distinguished, so all of them must have the value.
  const holds = candidates.every((each) => each.revision !== latest.revision || each.hashOf(recordedRel) === hash)
  if (!holds || row.names.some((name) => name.rel !== rel && isOwnName(row, name))) return holds ? latest : undefined
  const whole = new Set(wholeRows(lookup, row))
  return candidates.some((each) => each.revision === latest.revision && whole.has(each.row)) ? latest : undefined
}

/** Recorded rows with the same name within the same parents. The member at `rel` is not used to identify its own row. */
function knownRows({ lookup, known }: Search, row: Row, rel: string): readonly RecordedRow[] {
  const without = row.names.some((name) => name.rel === rel) ? rel : undefined
  const made = known.get(row)?.get(without)
  if (made !== undefined) return made
  const rows = namedRows(lookup, row, without)
  const ofRow = known.get(row) ?? new Map<string | undefined, readonly RecordedRow[]>()
  known.set(row, ofRow.set(without, rows))
  return rows
}

function namedRows(lookup: Lookup, row: Row, without: string | undefined): readonly RecordedRow[] {
  const names = [...row.names, ...(lookup.ownNames.get(row) ?? [])]
  const own = without === undefined ? names : names.filter((name) => name.rel !== without)
  const named = own.flatMap((name) => lookup.index.named(name, lookup.isTrusted))
  const same = new Set(sameRows(lookup, row).map((each) => each.row))
  const about = named.filter((each) => same.has(each.row))
  const { parent } = row
  const parents = new Set(parent === undefined ? [] : sameRows(lookup, parent).map((each) => each.row))
  if (parents.size === 0) return about
  return about.filter((each) => each.parent !== undefined && parents.has(each.parent))
}

/** Whether the name is the row's own: its key, its id, or the reference that its list is named after. Other references may be shared by many rows. */
function isOwnName({ key, place }: Row, { rel }: RowName): boolean {
  if (rel === undefined || rel === 'id' || rel === 'uuid') return true
  const what = singular(keyWords(key).at(-1) ?? '')
  return keyWords(rel)[0] === what || keyWords(rel)[0] === singular(keyWords(`${place.at(-1)}`).at(-1) ?? '')
}

function note({ place, before, after }: Change, { revision }: Pick<RecordedRow, 'revision'>): Finding {
  return {
    rule: 'moved-by-tool',
    severity: 'info',
    path: formatPointer(place),
    before,
    ...(after === undefined ? {} : { after }),
    message: `event ${revision} recorded this value after the earlier one was established`,
    source: { revision },
  }
}
