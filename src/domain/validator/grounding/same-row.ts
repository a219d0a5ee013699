/** @module Finds the recorded rows that a row of a context is about, and the leaves in which it differs from all of them. */
import { isReference } from '../../../../projections/list-identity.ts'
import type { Pauses } from '../../yielding.ts'
import { hashValue, type KnownHashes } from './hash.ts'
import { lastKey, type Row, type RowName } from './read-rows.ts'
import type { RecordedRow, RowIndex } from './row-index.ts'
import type { IsTrusted } from './trusted-tools.ts'

interface Meeting {
  readonly recorded: RecordedRow
  readonly disagreeing: readonly string[]
}

/** Maximum number of leaves that one handoff may compare: tens of milliseconds, whatever the size of context and record. */
const STEPS_MAX = 1_000_000

/** The look-ups of one handoff; each row of its context is looked up once. */
export interface Lookup {
  readonly index: RowIndex
  readonly isTrusted: IsTrusted
  /** Names of rows of the context by which a call may ask for them. */
  readonly ownNames: ReadonlyMap<Row, readonly RowName[]>
  readonly met: Map<Row, readonly Meeting[]>
  readonly hashes: KnownHashes
  readonly pauses: Pauses
  /** Once negative, look-ups find nothing, and the rest is not judged. */
  stepsLeft: number
}

export function lookupIn(
  index: RowIndex,
  isTrusted: IsTrusted,
  pauses: Pauses,
  ownNames: Lookup['ownNames'] = new Map(),
): Lookup {
  return { index, isTrusted, ownNames, met: new Map(), hashes: new Map(), pauses, stepsLeft: STEPS_MAX }
}

/** Recorded rows that the row is about: by its name, or because all leaves but at most one are equal. */
export function sameRows(lookup: Lookup, row: Row): readonly RecordedRow[] {
  return meetings(lookup, row).map(({ recorded }) => recorded)
}

/** Leaves that a recorded row has, but none with the value of this row. */
export function disagreeingLeaves(
  lookup: Lookup,
  row: Row,
): readonly { readonly rel: string; readonly by: RecordedRow }[] {
  const met = meetings(lookup, row)
  const found = new Map<string, RecordedRow>()
  for (const { recorded, disagreeing } of met) for (const rel of disagreeing) found.set(rel, recorded)
  for (const { recorded, disagreeing } of met) {
    for (const rel of found.keys()) {
      if (recorded.hashOf(rel) !== undefined && !disagreeing.includes(rel)) found.delete(rel)
    }
  }
  return [...found].map(([rel, by]) => ({ rel, by }))
}

/** Recorded rows that agree with the row in every leaf that both have. */
export function wholeRows(lookup: Lookup, row: Row): readonly number[] {
  return meetings(lookup, row).flatMap(({ recorded, disagreeing }) => (disagreeing.length === 0 ? [recorded.row] : []))
}

/** Whether one recorded row about the same thing contains all leaves and lists of the row. */
export function isRecordedWhole(lookup: Lookup, row: Row): boolean {
  const { index, hashes } = lookup
  return meetings(lookup, row).some(
    ({ recorded, disagreeing }) =>
      disagreeing.length === 0 &&
      row.rels.every((rel) => recorded.hashOf(rel) !== undefined) &&
      row.lists.every(
        ({ rel, list }) => recorded.hashOf(`${rel}[]`) === hashValue(index.seed, lastKey(rel), list, hashes),
      ),
  )
}

function meetings(lookup: Lookup, row: Row): readonly Meeting[] {
  const known = lookup.met.get(row)
  if (known !== undefined) return known
  const met = meetingsOf(lookup, row)
  lookup.met.set(row, met)
  return met
}

function meetingsOf(lookup: Lookup, row: Row): readonly Meeting[] {
  const { index, isTrusted } = lookup
  if (lookup.stepsLeft < 0) return []
  const steps = row.rels.length + 1
  spend(lookup, 2 * steps)
  const hashes = index.hashesOf(row)
  const met = new Map<number, Meeting>()
  for (const name of [...row.names, ...(lookup.ownNames.get(row) ?? [])]) {
    for (const recorded of index.named(name, isTrusted)) {
      spend(lookup, steps)
      const meeting = meet(row, hashes, recorded)
      const named = name.rel !== undefined && recorded.hashOf(name.rel) === undefined ? 1 : 0
      const isKnown = recorded.isBare || (meeting.shared + named) * 2 > row.rels.length
      if (isKnown && (meeting.references === 0 || isDecisive(name))) met.set(recorded.row, meeting)
    }
  }
  // Rows found by name take precedence over rows that are merely similar.
  if (met.size > 0) return [...met.values()]
  for (const recorded of index.alike(row, hashes, isTrusted)) {
    spend(lookup, steps)
    const meeting = meet(row, hashes, recorded)
    if (meeting.shared === row.rels.length && meeting.disagreeing.length <= 1) met.set(recorded.row, meeting)
  }
  return [...met.values()]
}

function spend(lookup: Lookup, steps: number): void {
  lookup.stepsLeft -= steps
  lookup.pauses.count(steps)
}

interface Measured extends Meeting {
  readonly shared: number
  readonly references: number
}

function meet(row: Row, hashes: readonly number[], recorded: RecordedRow): Measured {
  const disagreeing: string[] = []
  let [shared, references] = [0, 0]
  for (const [i, rel] of row.rels.entries()) {
    const hash = recorded.hashOf(rel)
    if (hash === undefined) continue
    shared += 1
    if (hash === hashes[i]) continue
    disagreeing.push(rel)
    if (isOtherReference(lastKey(rel))) references += 1
  }
  return { recorded, disagreeing, shared, references }
}

/** Whether the name is the row's own id; another reference may name a thing that the row is only about. */
function isDecisive({ rel }: RowName): boolean {
  return rel === undefined || rel === 'id' || rel === 'uuid' || rel === 'key'
}

function isOtherReference(key: string): boolean {
  return key !== 'name' && isReference(key)
}
