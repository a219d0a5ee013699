/** @module Rules `disagrees-with-tool`, `ungrounded`, `derived` and `evidence-truncated`: compares new values of a handoff with the run's tool results. */

import { protectedBy } from '../../../../projections/protected-keys.ts'
import { sortedKeys } from '../../../../projections/set-text.ts'
import { isEqual, isJsonObject, type Json, type JsonObject } from '../../../../schemas/json.ts'
import { formatPointer, parsePointer, type Token, valueAt } from '../../../../schemas/json-pointer.ts'
import type { ResolvedPolicy } from '../../../../schemas/policy.ts'
import type { Pauses, Yielding } from '../../yielding.ts'
import { type Evidence, isRecorded, LOOKUP_MAX_CHARS, type LookupBudget } from '../evidence.ts'
import { isSameNumber } from '../meaning/numbers.ts'
import { addFinding, type Report } from '../report.ts'
import type { Supersession, Supersessions } from '../supersedes.ts'
import { entryFor, type Superseded, supersededTree } from '../supersedes.ts'
import { isWholeContext, type Level, levelsOf, type Trunk, topKey } from '../trunk.ts'
import { type Row, rowsIn } from './read-rows.ts'
import type { FailedCall, RecordedResults } from './recorded-results.ts'
import type { RecordedRow } from './row-index.ts'
import { disagreeingLeaves, type Lookup, lookupIn, sameRows } from './same-row.ts'
import type { Tools } from './trusted-tools.ts'

/** Smaller numbers are not looked up, because they are mostly counts and occur in every text. */
export const SMALL_NUMBER = 10
const PROSE_WORDS_MIN = 7
const PROSE_MIN_CHARS = 100
/** Steps per row, per list member, and per new leaf that is looked up. */
const ROW_STEPS = 40
const MEMBER_STEPS = 15
const LEAF_STEPS = 10

/** The evidence must be settled. */
export function* checkRecorded(
  input: GroundsInput,
  by: { readonly evidence: Evidence; readonly mode: 'warn' | 'reject'; readonly pauses: Pauses },
  report: Report,
): Yielding<void> {
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

function* checkRows({ input, report, severity, superseded, pauses }: Checking, lookup: Lookup): Yielding<void> {
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

/** Whether the row is the context itself or a wrapper of it. Such a row is compared only if its key is its name, as in `{users: {mia_li_3668: ...}}`. */
function isContext({ place, names }: Row, trunk: Trunk): boolean {
  return isWholeContext(place, trunk) && !names.some(({ rel }) => rel === undefined)
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

function* wrongMembers(lookup: Lookup, row: Row): Yielding<readonly Wrong[]> {
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

/** Whether the place already has this value in the established context; it was judged when it was handed over. */
function isStanding({ before }: GroundsInput, place: readonly Token[], value: Json): boolean {
  const established = valueAt(before, place)
  return established !== undefined && isEqual(established, value)
}

/** Returns whether a leaf could not be judged. */
function* checkLeaves(checking: Checking): Yielding<boolean> {
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

/** Names under `entities`, and numbers there and under `facts`, that are not at the same place in the established context. */
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

// Inputs that the checks against recorded results share: the documents, the evidence, and the report.

interface GroundsInput {
  readonly before: JsonObject
  readonly after: JsonObject
  readonly policy: ResolvedPolicy
  /** The start of the context. */
  readonly trunk: Trunk
  readonly supersedes?: readonly Supersession[] | undefined
  /** The policy's rules for tools. */
  readonly tools: Tools
}

interface Checking {
  readonly input: GroundsInput
  readonly evidence: Evidence
  readonly report: Report
  readonly severity: 'warning' | 'error'
  readonly superseded: Superseded
  readonly pauses: Pauses
}

// An action that is handed over as done although its recorded call failed is `disagrees-with-tool`.

const DONE =
  /^(?:done|completed?|finished|succeeded|success|successful|fulfilled|executed|confirmed|booked|sent|paid|issued|resolved|ok|approved|updated|cancelled|canceled|refunded|applied)$/i
const STATES = ['status', 'state', 'outcome', 'result']
const CALLS = ['callId', 'call_id', 'toolCallId', 'tool_call_id', 'call', 'id']
/** Steps per object that is checked. */
const OBJECT_STEPS = 10
const TOOLS = ['tool', 'tool_name', 'toolName', 'name', 'action', 'type', 'what']

function* checkOutcomes(checking: Checking): Yielding<void> {
  const { evidence, input, pauses } = checking
  const { failed } = evidence.results
  if (failed.size === 0) return
  const ofTool = new Map<string, FailedCall>()
  for (const call of failed.values()) if (!ofTool.has(call.tool)) ofTool.set(call.tool, call)
  pauses.count(failed.size)
  const outcomes = { ...evidence.results, ofTool }
  const waiting: { readonly value: Json; readonly place: readonly Token[] }[] = [{ value: input.after, place: [] }]
  for (let each = waiting.pop(); each !== undefined; each = waiting.pop()) {
    const { value, place } = each
    if (typeof value !== 'object' || value === null) continue
    if (isJsonObject(value) && place.length > 0) checkAction(checking, outcomes, { action: value, place })
    const keys = place.length === 0 ? sortedKeys(value as JsonObject) : Object.keys(value)
    for (let i = keys.length - 1; i >= 0; i--) {
      const key = keys[i] as string
      const below = (value as JsonObject)[key] as Json
      if (typeof below !== 'object' || below === null) continue
      waiting.push({ value: below, place: [...place, Array.isArray(value) ? i : key] })
    }
    pauses.count(OBJECT_STEPS + keys.length)
    if (pauses.due()) yield
  }
}

interface Outcomes extends Pick<RecordedResults, 'failed' | 'succeeded'> {
  /** The first failed call of each tool. */
  readonly ofTool: ReadonlyMap<string, FailedCall>
}

function checkAction(
  { input, report, severity, superseded }: Checking,
  outcomes: Outcomes,
  { action, place }: { readonly action: JsonObject; readonly place: readonly Token[] },
): void {
  const state = STATES.find((key) => Object.hasOwn(action, key) && saysDone(action[key] as Json))
  if (state === undefined) return
  const failed = failedCallOf(action, outcomes, topKey(place, input.trunk) === 'actions')
  if (failed === undefined) return
  const established = valueAt(input.before, place)
  if (established !== undefined && isEqual(established, action)) return
  addFinding(report, {
    rule: 'disagrees-with-tool',
    severity: entryFor(superseded, [...place, state]) === undefined ? severity : 'warning',
    path: formatPointer([...place, state]),
    after: action[state] as Json,
    message: `the call of ${failed.tool} failed, as event ${failed.revision} recorded`,
    source: { revision: failed.revision },
  })
}

function saysDone(value: Json): boolean {
  return value === true || (typeof value === 'string' && DONE.test(value.trim()))
}

function failedCallOf(action: JsonObject, results: Outcomes, isAction: boolean): FailedCall | undefined {
  for (const key of CALLS) {
    const id = Object.hasOwn(action, key) ? action[key] : undefined
    const failed = typeof id === 'string' ? results.failed.get(id) : undefined
    if (failed !== undefined) return failed
  }
  if (!isAction) return undefined
  for (const key of TOOLS) {
    const tool = Object.hasOwn(action, key) ? action[key] : undefined
    if (typeof tool !== 'string' || results.succeeded.has(tool)) continue
    const failed = results.ofTool.get(tool)
    if (failed !== undefined) return failed
  }
  return undefined
}

// Numbers that follow from values around them: a count, a sum, a difference or a product.

/** Maximum number of surrounding numbers whose pairs are tried as operands. */
const OPERANDS_MAX = 24
const MEMBERS_MAX = 2_000
/** Maximum number of derivations tried per handoff, and of values read for them. */
const TRIES_MAX = 200
const STEPS_MAX = 200_000
/** Steps per try, for the pairs of its operands. */
const TRY_STEPS = 1_000

class Derivations {
  readonly #after: JsonObject
  #triesLeft = TRIES_MAX
  readonly #work: Work = { stepsLeft: STEPS_MAX, sums: new Map(), read: new Map() }

  constructor(after: JsonObject) {
    this.#after = after
  }

  /** The derivation of the number at a place from the values around it, in words; undefined if there is none. */
  of(place: readonly Token[], number: number, pauses: Pauses): string | undefined {
    if (--this.#triesLeft < 0) return undefined
    const { stepsLeft } = this.#work
    const found = this.#search(place, number)
    pauses.count(TRY_STEPS + stepsLeft - this.#work.stepsLeft)
    return found
  }

  #search(place: readonly Token[], number: number): string | undefined {
    for (let depth = place.length - 1; depth >= 1; depth--) {
      const around = valueAt(this.#after, place.slice(0, depth))
      if (around === undefined || !isJsonObject(around)) continue
      const own = depth === place.length - 1 ? place.at(-1) : undefined
      const { lists, numbers } = readAround(around, this.#work)
      const operands = numbers.filter(([key]) => key !== own).slice(0, OPERANDS_MAX)
      const found = fromLists(lists, number, this.#work) ?? fromPairs(operands, number)
      if (found !== undefined || depth < place.length - 1) return found
    }
    return undefined
  }
}

interface Work {
  stepsLeft: number
  readonly sums: Map<readonly Json[], ReadonlyMap<string, number>>
  readonly read: Map<JsonObject, Around>
}

/** What is read of an object once, for all numbers in it. */
interface Around {
  readonly lists: readonly (readonly [string, readonly Json[]])[]
  /** Numbers with the key that they are below; one more than are tried, because a number is not its own operand. */
  readonly numbers: readonly (readonly [string, number])[]
}

function readAround(object: JsonObject, work: Work): Around {
  const known = work.read.get(object)
  if (known !== undefined) return known
  const lists: [string, readonly Json[]][] = []
  const numbers: [string, number][] = []
  for (const key of Object.keys(object)) {
    if (--work.stepsLeft < 0) break
    const value = object[key] as Json
    if (Array.isArray(value) && value.length > 0 && value.length <= MEMBERS_MAX) lists.push([key, value])
    takeNumbers([key, value], numbers, work)
  }
  const around = { lists, numbers }
  work.read.set(object, around)
  return around
}

function fromLists(lists: Around['lists'], number: number, work: Work): string | undefined {
  for (const [key, list] of lists) {
    if (--work.stepsLeft < 0) return undefined
    if (list.length === number) return `the count of ${key}`
    for (const [column, sum] of sumsOf(list, work)) {
      if (isSameNumber(sum, number)) return `the sum of ${key}${column}`
    }
  }
  return undefined
}

function sumsOf(list: readonly Json[], work: Work): ReadonlyMap<string, number> {
  const known = work.sums.get(list)
  if (known !== undefined) {
    work.stepsLeft -= known.size
    return known
  }
  const sums = new Map<string, number>()
  const add = (column: string, value: Json): void => {
    if (typeof value === 'number') sums.set(column, (sums.get(column) ?? 0) + value)
  }
  for (const member of list) {
    if (isJsonObject(member)) for (const key of Object.keys(member)) add(`/${key}`, member[key] as Json)
    else add('', member)
  }
  work.sums.set(list, sums)
  return sums
}

function fromPairs(operands: Around['numbers'], number: number): string | undefined {
  let sum = 0
  for (const [, operand] of operands) sum += operand
  if (operands.length > 1 && isSameNumber(sum, number)) return 'the sum of the values beside it'
  for (const [i, [, a]] of operands.entries()) {
    for (const [, b] of operands.slice(i + 1)) {
      if (isSameNumber(a + b, number)) return `${a} + ${b}`
      if (isSameNumber(Math.abs(a - b), Math.abs(number))) return `${Math.max(a, b)} - ${Math.min(a, b)}`
      if (isSameNumber(a * b, number)) return `${a} * ${b}`
    }
  }
  return undefined
}

function takeNumbers([key, value]: readonly [string, Json], found: [string, number][], work: Work): void {
  if (found.length > OPERANDS_MAX || --work.stepsLeft < 0) return
  if (typeof value === 'number') found.push([key, value])
  else if (typeof value === 'object' && value !== null)
    for (const each of Object.values(value)) takeNumbers([key, each as Json], found, work)
}
