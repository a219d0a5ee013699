/** @module Whether a tool answered the established value of a place, for the same thing and under the same keys, and no tool the new value. */
import { isReference } from '../../../../projections/list-identity.ts'
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import { formatPointer } from '../../../../schemas/json-pointer.ts'
import type { Pauses } from '../../yielding.ts'
import type { Change } from '../established/changes.ts'
import type { Evidence } from '../evidence.ts'
import type { Scalar } from '../meaning/scalars.ts'
import { lastKey, type Row, rowsIn } from './read-rows.ts'
import type { RecordedRow } from './row-index.ts'
import { lookupIn, sameRows } from './same-row.ts'
import type { Tools } from './trusted-tools.ts'

/** Steps per row that is read. */
const ROW_STEPS = 30

interface Leaf {
  readonly row: Row
  readonly rel: string
}

/** Takes a change, or a place with an assumed change. */
export type IsEvident = (change: Pick<Change, 'kind' | 'place' | 'before' | 'after'>) => boolean

/** The evidence must be settled. The established context is read at the first query. */
export function evidentIn(
  { results }: Evidence,
  { before, tools }: { readonly before: JsonObject; readonly tools: Tools },
  pauses: Pauses,
): IsEvident {
  const { index } = results
  if (index === undefined || index.size === 0) return () => false
  const lookup = lookupIn(index, tools.isTrusted, pauses)
  let leaves: ReadonlyMap<string, Leaf> | undefined
  return ({ kind, place, before: was, after: now }) => {
    if ((kind !== 'changed' && kind !== 'removed' && kind !== 'returned') || !isScalar(was)) return false
    leaves ??= leavesOf(before, pauses)
    const leaf = leaves.get(formatPointer(place))
    if (leaf === undefined) return false
    const { row, rel } = leaf
    const known = sameRows(lookup, row)
      .filter(
        (recorded) => !row.rels.some((each, i) => isOther(recorded, each, index.leafHash(each, row.values[i] ?? null))),
      )
      .map((recorded) => recorded.hashOf(rel))
    if (!known.includes(index.leafHash(rel, was))) return false
    return now === undefined || !isScalar(now) || !known.includes(index.leafHash(rel, now))
  }
}

function leavesOf(before: JsonObject, pauses: Pauses): ReadonlyMap<string, Leaf> {
  const leaves = new Map<string, Leaf>()
  for (const row of rowsIn(before)) {
    for (const rel of row.rels) leaves.set(formatPointer([...row.place, ...rel.split('/')]), { row, rel })
    pauses.count(ROW_STEPS + row.rels.length)
  }
  return leaves
}

/** Whether a recorded row has another value under one of this row's references, and so is about another thing. */
function isOther({ hashOf }: RecordedRow, rel: string, hash: number): boolean {
  if (!isReference(lastKey(rel))) return false
  const recorded = hashOf(rel)
  return recorded !== undefined && recorded !== hash
}

function isScalar(value: Json): value is Exclude<Scalar, null> {
  return typeof value !== 'object'
}
