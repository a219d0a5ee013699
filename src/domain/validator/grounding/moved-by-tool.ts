/** @module A change that a later recorded result made: the same thing, the same path from it on, exactly the new value (JUD-19). */
import { keyWords, singular } from '../../../../projections/key-words.ts'
import type { Finding } from '../../../../schemas/finding.ts'
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import { isJsonObject } from '../../../../schemas/json.ts'
import type { Change, Excuse, Gain } from '../established/changes.ts'
import { type Evidence, settledIndex } from '../evidence.ts'
import { formatPointer, type Token, valueAt } from '../pointer.ts'
import { sinceAt } from './established-since.ts'
import { hashValue } from './hash.ts'
import { type Row, type RowName, readRows } from './read-rows.ts'
import type { RecordedRow, RowIndex } from './row-index.ts'
import { isRecordedWhole, sameRows, wholeRows } from './same-row.ts'

/** Whether something new is, whole, what a tool answered: it says what it is about. */
export function recordedGain(evidence: Evidence): ((gain: Gain) => boolean) | undefined {
  const index = settledIndex(evidence)
  if (index === undefined || index.size === 0) return undefined
  return ({ place, value }) => {
    if (!isJsonObject(value)) return false
    let whole: boolean | undefined
    // The first row is the object itself, with the keys it stands under.
    readRows(underKeys(place, value), (row) => {
      if (row.place.length === place.length) whole ??= isRecordedWhole(index, row)
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
  let rows: Map<string, Row> | undefined
  return (change) => {
    if (change.kind === 'duplicate' || change.kind === 'shadow') return undefined
    rows ??= rowsOf(after)
    const source = sourceOf(change, { index, rows, after, since: sinceAt(evidence.results.since, change.place) })
    return source === undefined ? undefined : note(change, source)
  }
}

function rowsOf(after: JsonObject): Map<string, Row> {
  const rows = new Map<string, Row>()
  readRows(after, (row) => rows.set(formatPointer(row.place), row))
  return rows
}

interface Search {
  readonly index: RowIndex
  readonly rows: ReadonlyMap<string, Row>
  readonly after: JsonObject
  /** Event by which the value stands. */
  readonly since: number
}

function sourceOf(change: Change, search: Search): RecordedRow | undefined {
  // What is gone is told by what holds it now: a list or an object without it.
  const place = change.afterPlace ?? change.place.slice(0, -1)
  for (let end = place.length; end >= 1; end--) {
    const row = search.rows.get(formatPointer(place.slice(0, end)))
    if (row === undefined) continue
    for (let to = place.length; to >= end; to--) {
      const source = holding(row, place.slice(end, to), { ...search, row: place.slice(0, end) })
      if (source !== undefined) return source
    }
  }
  return undefined
}

/** The latest row about the same thing that has something at the path, where that is exactly what stands there now. */
function holding(
  row: Row,
  path: readonly Token[],
  { index, after, since, row: place }: Search & { readonly row: readonly Token[] },
): RecordedRow | undefined {
  const value = valueAt(after, [...place, ...path].map(String))
  if (value === undefined) return undefined
  const rel = path.join('/')
  const isList = Array.isArray(value)
  if (path.length === 0 || (typeof value === 'object' && value !== null && !isList)) return undefined
  const recordedRel = isList ? `${rel}[]` : rel
  const candidates = knownRows(index, row, rel).filter((each) => each.hashOf(recordedRel) !== undefined)
  let latest: RecordedRow | undefined
  for (const each of candidates) if (each.revision >= (latest?.revision ?? 0)) latest = each
  if (latest === undefined || latest.revision <= since) return undefined
  const hash = isList ? hashValue(index.seed, `${path.at(-1)}`, value as Json) : index.leafHash(rel, value)
  // Several rows of one name in one result are told apart by nothing: then all of them say so, or none does.
  const holds = candidates.every((each) => each.revision !== latest.revision || each.hashOf(recordedRel) === hash)
  if (!holds || row.names.some((name) => name.rel !== rel && isOwnName(row, name))) return holds ? latest : undefined
  const whole = new Set(wholeRows(index, row))
  return candidates.some((each) => each.revision === latest.revision && whole.has(each.row)) ? latest : undefined
}

/** Rows of the same name, inside the same things. */
function knownRows(index: RowIndex, row: Row, rel: string): readonly RecordedRow[] {
  const own = row.names.filter((name) => name.rel !== rel)
  const named = own.flatMap((name) => index.named(name))
  const same = new Set(sameRows(index, row).map((each) => each.row))
  const about = named.filter((each) => same.has(each.row))
  const { parent } = row
  const parents = new Set(parent === undefined ? [] : sameRows(index, parent).map((each) => each.row))
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
