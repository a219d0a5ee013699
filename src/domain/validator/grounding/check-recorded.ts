/** @module Rules `disagrees-with-tool`, `ungrounded`, `derived` and `evidence-truncated`: what is new in a handoff against what the run's tools answered. */

import { protectedBy } from '../../../../projections/protected-keys.ts'
import { sortedKeys } from '../../../../projections/set-text.ts'
import { isEqual, isJsonObject, type Json } from '../../../../schemas/json.ts'
import { formatPointer, parsePointer, type Token, valueAt } from '../../../../schemas/json-pointer.ts'
import type { Paced, Pauses } from '../../paced.ts'
import { entryFor, supersededTree } from '../established/superseded.ts'
import { type Evidence, isRecorded, LOOKUP_MAX_CHARS, type LookupBudget } from '../evidence.ts'
import { addFinding, type Report } from '../report.ts'
import type { Supersessions } from '../supersedes.ts'
import { isWhole, type Level, levelsOf, type Trunk, topKey } from '../trunk.ts'
import { checkOutcomes } from './check-outcomes.ts'
import type { Checking, GroundsInput } from './checking.ts'
import { Derivations } from './derivations.ts'
import { type Row, rowsIn } from './read-rows.ts'
import type { RecordedRow } from './row-index.ts'
import { disagreeingLeaves, type Lookup, lookupIn, sameRows } from './same-row.ts'

/** Smaller numbers count things: they are in every text. */
export const SMALL_NUMBER = 10
const PROSE_WORDS_MIN = 7
const PROSE_MIN_CHARS = 100
/** Of a row, a member of a list, and a new leaf that is looked up. */
const ROW_STEPS = 40
const MEMBER_STEPS = 15
const LEAF_STEPS = 10

/** The evidence is settled. */
export function* checkRecorded(
  input: GroundsInput,
  by: { readonly evidence: Evidence; readonly mode: 'warn' | 'reject'; readonly pauses: Pauses },
  report: Report,
): Paced<void> {
  const tokens = (input.supersedes ?? []).map(({ path }) => parsePointer(path))
  const checking: Checking = {
    input,
    evidence: by.evidence,
    report,
    severity: by.mode === 'reject' ? 'error' : 'warning',
    superseded: supersededTree(tokens.filter((each) => each !== undefined && each.length > 0) as Supersessions),
    pauses: by.pauses,
  }
  const { index } = by.evidence.results
  const lookup = index === undefined ? undefined : lookupIn(index, input.tools.isTrusted, by.pauses)
  if (lookup !== undefined) yield* checkRows(checking, lookup)
  yield* checkOutcomes(checking)
  const isCut = (yield* checkLeaves(checking)) || index?.truncated === true || (lookup?.stepsLeft ?? 0) < 0
  if (!isCut) return
  const message = 'more was recorded than can be searched: what is grounded could not be judged'
  addFinding(report, { rule: 'evidence-truncated', severity: checking.severity, path: '', message })
}

function* checkRows({ input, report, severity, superseded, pauses }: Checking, lookup: Lookup): Paced<void> {
  const { before, after, trunk } = input
  const isProtected = protectedBy(input.policy)
  const isJudged = (key: string): boolean => isProtected(key) && key !== 'actions'
  for (const key of sortedKeys(after)) {
    const now = after[key] as Json
    if (typeof now !== 'object' || now === null || !(key === trunk[0] || isJudged(key))) continue
    if (Object.hasOwn(before, key) && isEqual(before[key] as Json, now)) continue
    for (const row of rowsIn({ [key]: now })) {
      pauses.count(ROW_STEPS + row.rels.length)
      if (pauses.due()) yield
      if (isContext(row, trunk)) continue
      for (const { place, after, by } of [...wrongLeaves(lookup, row), ...(yield* wrongMembers(lookup, row))]) {
        if (isStanding(input, place, after) || !isJudged(topKey(place, trunk))) continue
        addFinding(report, {
          rule: 'disagrees-with-tool',
          severity: entryFor(superseded, place) === undefined ? severity : 'warning',
          path: formatPointer(place),
          after,
          message: `event ${by.revision} recorded another value for this`,
          source: { revision: by.revision },
        })
      }
    }
  }
}

/** The context itself, or what it is wrapped in, is a row only where the key that holds it is its name, as in `{users: {mia_li_3668: ...}}`. */
function isContext({ place, names }: Row, trunk: Trunk): boolean {
  return isWhole(place, trunk) && !names.some(({ rel }) => rel === undefined)
}

interface Wrong {
  readonly place: readonly Token[]
  readonly after: Json
  readonly by: RecordedRow
}

function wrongLeaves(lookup: Lookup, row: Row): readonly Wrong[] {
  if (row.rels.length === 0) return []
  return disagreeingLeaves(lookup, row).flatMap(({ rel, by }) => {
    const after = row.values[row.rels.indexOf(rel)] as Json
    return isLeftAlone(after) ? [] : [{ place: [...row.place, ...rel.split('/')], after, by }]
  })
}

function* wrongMembers(lookup: Lookup, row: Row): Paced<readonly Wrong[]> {
  const scalars = row.lists.filter(({ list }) => list.some((member) => typeof member !== 'object'))
  if (scalars.length === 0) return []
  const same = sameRows(lookup, row)
  const wrong: Wrong[] = []
  for (const { rel, list } of scalars) {
    const having = same.filter((each) => each.hashOf(`${rel}[]`) !== undefined)
    const by = having[0]
    if (by === undefined) continue
    for (const [i, after] of list.entries()) {
      lookup.pauses.count(MEMBER_STEPS + having.length)
      if (lookup.pauses.due()) yield
      if (typeof after === 'object' || isLeftAlone(after)) continue
      const hash = lookup.index.memberHash(rel, after)
      if (having.some((each) => lookup.index.hasMember(each, hash))) continue
      wrong.push({ place: [...row.place, ...rel.split('/'), i], after, by })
    }
  }
  return wrong
}

function isLeftAlone(value: Json): boolean {
  if (typeof value === 'number') return Math.abs(value) < SMALL_NUMBER
  return typeof value === 'string' && isProse(value)
}

function isProse(text: string): boolean {
  return text.length >= PROSE_MIN_CHARS || text.split(/\s+/).length >= PROSE_WORDS_MIN
}

/** What stands already was judged when it came. */
function isStanding({ before }: GroundsInput, place: readonly Token[], value: Json): boolean {
  const established = valueAt(before, place.map(String))
  return established !== undefined && isEqual(established, value)
}

/** Answers whether some leaf could not be judged. */
function* checkLeaves(checking: Checking): Paced<boolean> {
  const { input, evidence, report, severity, superseded, pauses } = checking
  const budget: LookupBudget = { charsLeft: LOOKUP_MAX_CHARS }
  const derivations = new Derivations(input.after)
  let known: Set<Json> | undefined
  let isCut = false
  for (const { place, leaf } of newLeaves(input)) {
    pauses.count(LEAF_STEPS)
    if (pauses.due()) yield
    const grounded = yield* isRecorded(evidence, leaf, { budget, pauses })
    if (grounded === true) continue
    known ??= leavesOf(input.before)
    if (known.has(leaf)) continue
    const derivation = typeof leaf === 'number' ? derivations.of(place, leaf, pauses) : undefined
    if (derivation !== undefined) {
      const message = `follows from what is recorded: ${derivation}`
      addFinding(report, { rule: 'derived', severity: 'info', path: formatPointer(place), after: leaf, message })
    } else if (grounded === 'truncated') isCut = true
    else if (entryFor(superseded, place) === undefined) {
      const message = 'occurs in no input or tool result of this run'
      addFinding(report, { rule: 'ungrounded', severity, path: formatPointer(place), after: leaf, message })
    }
  }
  return isCut
}

interface NewLeaf {
  readonly place: readonly Token[]
  readonly leaf: string | number
}

/** Names under `entities`, and numbers there and under `facts`, that do not stand at the same place already. */
function newLeaves(input: GroundsInput): readonly NewLeaf[] {
  const leaves: NewLeaf[] = []
  const { place: above, before, after } = levelsOf(input.before, input.after, input.trunk).at(-1) as Level
  for (const key of ['entities', 'facts']) {
    if (!Object.hasOwn(after, key)) continue
    const established = Object.hasOwn(before, key) ? (before[key] as Json) : undefined
    walkNew([established, after[key] as Json], [...above, key], (place, leaf) => {
      const isLookedUp = typeof leaf === 'number' ? Math.abs(leaf) >= SMALL_NUMBER : key === 'entities'
      if (isLookedUp) leaves.push({ place: [...place], leaf })
    })
  }
  return leaves
}

function walkNew(
  [established, now]: readonly [Json | undefined, Json],
  place: Token[],
  visit: (place: readonly Token[], leaf: string | number) => void,
): void {
  if (established === now) return
  if (typeof now === 'string' || typeof now === 'number') visit(place, now)
  else if (Array.isArray(now)) {
    for (const [i, member] of now.entries()) {
      place.push(i)
      walkNew(
        [Array.isArray(established) ? (established[i] as Json | undefined) : undefined, member as Json],
        place,
        visit,
      )
      place.pop()
    }
  } else if (isJsonObject(now)) {
    for (const key of sortedKeys(now)) {
      const below =
        established !== undefined && isJsonObject(established) && Object.hasOwn(established, key)
          ? (established[key] as Json)
          : undefined
      place.push(key)
      walkNew([below, now[key] as Json], place, visit)
      place.pop()
    }
  }
}

function leavesOf(value: Json, found: Set<Json> = new Set()): Set<Json> {
  if (typeof value !== 'object' || value === null) found.add(value)
  else for (const child of Object.values(value)) leavesOf(child as Json, found)
  return found
}
