/** @module A change that a later recorded result made: the same thing, the same path from it on, exactly the new value (JUD-19). */
import { keyWords, singular } from '../../../../projections/key-words.ts'
import type { Finding } from '../../../../schemas/finding.ts'
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import { isJsonObject } from '../../../../schemas/json.ts'
import { formatPointer, type Token, valueAt } from '../../../../schemas/json-pointer.ts'
import type { Change, Excuse, Gain } from '../established/changes.ts'
import { type Evidence, settledIndex } from '../evidence.ts'
import { sinceAt } from './established-since.ts'
import { hashValue } from './hash.ts'
import { REL_MAX_CHARS, type Row, type RowName, readRows } from './read-rows.ts'
import type { RecordedRow } from './row-index.ts'
import { isRecordedWhole, type Lookup, lookupIn, sameRows, wholeRows } from './same-row.ts'

/** Whether something new is, whole, what a tool answered: it says what it is about. */
export function recordedGain(evidence: Evidence): ((gain: Gain) => boolean) | undefined {
  const index = settledIndex(evidence)
  if (index === undefined || index.size === 0) return undefined
  const lookup = lookupIn(index)
  return ({ place, value }) => {
    if (!isJsonObject(value)) return false
    let whole: boolean | undefined
    // The first row is the object itself, with the keys it stands under.
    readRows(underKeys(place, value), (row) => {
      if (row.place.length === place.length) whole ??= isRecordedWhole(lookup, row)
    })
    return whole === true
  }
}

/** Lists are left out: a member stands under the key of its list either way. */
function underKeys(place: readonly Token[], value: Json): Json {
  return place.reduceRight<Json>((inner, token) => (typeof token === 'number' ? [inner] : { [token]: inner }), value)
}

export function movedByTool(evidence: Evidence, after: JsonObject): Excuse | undefined {
  const index = settledIndex(evidence)
  if (index === undefined || index.size === 0) return undefined
  const lookup = lookupIn(index)
  let rows: Map<JsonObject, Row> | undefined
  return (change) => {
    if (change.kind === 'duplicate' || change.kind === 'shadow') return undefined
    rows ??= rowsOf(after)
    const source = sourceOf(change, { lookup, rows, after, since: sinceAt(evidence.results.since, change.place) })
    return source === undefined ? undefined : note(change, source)
  }
}

function rowsOf(after: JsonObject): Map<JsonObject, Row> {
  const rows = new Map<JsonObject, Row>()
  readRows(after, (row) => rows.set(row.object, row))
  return rows
}

/** The values that stand on the way to a place, the whole context first; shorter where the way ends. */
function valuesOn(after: JsonObject, place: readonly Token[]): readonly Json[] {
  const values: Json[] = [after]
  for (const token of place) {
    const next = valueAt(values.at(-1) as Json, [`${token}`])
    if (next === undefined) break
    values.push(next)
  }
  return values
}

interface Search {
  readonly lookup: Lookup
  readonly rows: ReadonlyMap<JsonObject, Row>
  readonly after: JsonObject
  /** Event by which the value stands. */
  readonly since: number
}

function sourceOf(change: Change, search: Search): RecordedRow | undefined {
  // What is gone is told by what holds it now: a list or an object without it.
  const place = change.afterPlace ?? change.place.slice(0, -1)
  const values = valuesOn(search.after, place)
  for (let end = values.length - 1; end >= 1; end--) {
    const row = search.rows.get(values[end] as JsonObject)
    if (row === undefined) continue
    for (let to = values.length - 1; to > end; to--) {
      const source = holding(row, place.slice(end, to), { ...search, value: values[to] as Json })
      if (source !== undefined) return source
    }
  }
  return undefined
}

/** The latest row about the same thing that has something at the path, where that is exactly what stands there now. */
function holding(
  row: Row,
  path: readonly Token[],
  { lookup, since, value }: Search & { readonly value: Json },
): RecordedRow | undefined {
  const { index } = lookup
  const isList = Array.isArray(value)
  if (typeof value === 'object' && value !== null && !isList) return undefined
  const rel = path.join('/')
  if (rel.length > REL_MAX_CHARS) return undefined
  const recordedRel = isList ? `${rel}[]` : rel
  const candidates = knownRows(lookup, row, rel).filter((each) => each.hashOf(recordedRel) !== undefined)
  let latest: RecordedRow | undefined
  for (const each of candidates) if (each.revision >= (latest?.revision ?? 0)) latest = each
  if (latest === undefined || latest.revision <= since) return undefined
  const hash = isList ? hashValue(index.seed, `${path.at(-1)}`, value as Json) : index.leafHash(rel, value)
  // Several rows of one name in one result are told apart by nothing: then all of them say so, or none does.
  const holds = candidates.every((each) => each.revision !== latest.revision || each.hashOf(recordedRel) === hash)
  if (!holds || row.names.some((name) => name.rel !== rel && isOwnName(row, name))) return holds ? latest : undefined
  const whole = new Set(wholeRows(lookup, row))
  return candidates.some((each) => each.revision === latest.revision && whole.has(each.row)) ? latest : undefined
}

/** Rows of the same name, inside the same things. */
function knownRows(lookup: Lookup, row: Row, rel: string): readonly RecordedRow[] {
  const own = row.names.filter((name) => name.rel !== rel)
  const named = own.flatMap((name) => lookup.index.named(name))
  const same = new Set(sameRows(lookup, row).map((each) => each.row))
  const about = named.filter((each) => same.has(each.row))
  const { parent } = row
  const parents = new Set(parent === undefined ? [] : sameRows(lookup, parent).map((each) => each.row))
  if (parents.size === 0) return about
  return about.filter((each) => each.parent !== undefined && parents.has(each.parent))
}

/** The key it stands under, its id, or the reference that its list is named after; another reference may be of many. */
function isOwnName({ key, place }: Row, { rel }: RowName): boolean {
  if (rel === undefined || rel === 'id' || rel === 'uuid') return true
  const what = singular(keyWords(key).at(-1) ?? '')
  return keyWords(rel)[0] === what || keyWords(rel)[0] === singular(keyWords(`${place.at(-1)}`).at(-1) ?? '')
}

function note({ place, before, after }: Change, { revision }: RecordedRow): Finding {
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
