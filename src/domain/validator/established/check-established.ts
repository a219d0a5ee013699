/** @module Compares every protected key of the established context with the new one, change by change. */

import { proseBy, protectedBy } from '../../../../projections/protected-keys.ts'
import type { Finding } from '../../../../schemas/finding.ts'
import { isEqual, isJsonObject, type Json, type JsonObject } from '../../../../schemas/json.ts'
import type { Token } from '../../../../schemas/json-pointer.ts'
import type { ResolvedPolicy } from '../../../../schemas/policy.ts'
import type { Pauses, Yielding } from '../../yielding.ts'
import { compareOther } from '../compare-other.ts'
import { derivedIn } from '../explained/derived.ts'
import { movedAmong, saidOnceIn } from '../explained/moved.ts'
import { weaklyIn } from '../explained/weak.ts'
import { workedOffIn } from '../explained/worked-off.ts'
import { type LeftWords, leftWordsOf } from '../grounding/left-words.ts'
import { equalPairs, isUnitKey } from '../meaning/pairs.ts'
import { placeKind } from '../meaning/place-kind.ts'
import { readScalar } from '../meaning/scalars.ts'
import { noSignatures } from '../meaning/signature.ts'
import { isDeclared, outcomesBy } from '../outcome.ts'
import { addDifference, addFinding, countLeaves, type Report } from '../report.ts'
import { checkSupersessions, type Superseded, type Supersession, supersededTree } from '../supersedes.ts'
import { type Level, levelsOf, type Trunk, topKey } from '../trunk.ts'
import type { Change, ChangeSink, Excuses, Gain } from './changes.ts'
import { compareValues } from './compare-values.ts'
import { judgeChange, judgeEntries, noteDifference } from './judge-change.ts'
import { declaresPlaces, type PlaceRules, rootRules, rulesBelow } from './place-rules.ts'
import { checkRestated } from './restated.ts'
import { shadowedBy } from './shadow-keys.ts'
import { checkTotals } from './totals.ts'
import type { Walk } from './walk.ts'

export interface EstablishedInput {
  readonly before: JsonObject
  readonly after: JsonObject
  readonly policy: ResolvedPolicy
  /** The start of the context. */
  readonly trunk: Trunk
  readonly supersedes?: readonly Supersession[] | undefined
  /** The agent that hands over; a policy may name the agents that may supersede. */
  readonly agent?: string | undefined
  readonly excuses?: Excuses | undefined
  /** Whether a tool answered the established value of a place, and no tool the new one. */
  readonly isEvident?: ((change: Change) => boolean) | undefined
  /** Returns the declaration that could be offered for a change. */
  readonly offer?: ((change: Change) => Finding['declare']) | undefined
  /** State words that the run has left on the way to `before`. */
  readonly left?: LeftWords | undefined
  /** Whether an added value is, as a whole, a tool's answer. */
  readonly isRecorded?: ((gain: Gain) => Yielding<boolean>) | undefined
}

/** Maximum number of added values that are checked; a payload with ten thousand new keys does not restate anything by accident. */
const GAINS_MAX = 1000

/** Steps per differing top-level key, and per judged change. */
const KEY_STEPS = 10
const CHANGE_STEPS = 10

interface Judging extends Walk {
  readonly input: EstablishedInput
  readonly superseded: Superseded
  readonly report: Report
  /** The changes are judged once all are known, because tool results are looked up for all of them together. */
  readonly changes: Change[]
  readonly gains: Gain[]
  /** Properties of all places below the current key. */
  readonly below: { isProse: boolean }
}

/** Returns the top-level keys that differ, as far as the validator distinguishes values. */
export function* checkEstablished(
  input: EstablishedInput,
  report: Report,
  pauses: Pauses,
): Yielding<readonly string[]> {
  const { before, after, policy, trunk } = input
  const [isProtected, isProse] = [protectedBy(policy), proseBy(policy)]
  const judging = startJudging(input, report, pauses)
  const changed = new Set<string>()
  for (const level of levelsOf(before, after, trunk)) {
    const rules = level.place.reduce<PlaceRules>(rulesBelow, rootRules(policy))
    const gained: string[] = []
    for (const key of differingKeys(level)) {
      const earlier = report.differences
      judging.below.isProse = !isProtected(key) && isProse(key) && mayContradict(level.before[key], input)
      const below = { level, rules: rulesBelow(rules, key) }
      const isTold = judging.below.isProse && isConversation(level.before[key])
      if (isTold) checkConversation(judging, key, below)
      if (isProtected(key) || (judging.below.isProse && !isTold)) yield* checkKey(judging, key, below)
      else compareOther(key, level, report)
      if (report.differences > earlier) {
        changed.add(trunk.length === 0 ? key : (level.place[0] ?? key))
        if (!Object.hasOwn(level.before, key)) gained.push(key)
      }
      pauses.count(KEY_STEPS)
      if (pauses.due()) yield
    }
    checkShadows(judging, { level, isProtected, rules, gained })
  }
  if (changed.size > 0) {
    yield* judgeChanges(judging)
    judgeEntries(judging.superseded, before, report)
    yield* checkGains(judging, isProtected)
  }
  checkProtection(input, isProtected, report)
  return [...changed]
}

/** Keys of either document whose values are not identical in both, nor one quantity in another unit, without the key of the next level, in UTF-16 order. */
function differingKeys({ before, after, next }: Level): readonly string[] {
  const differing: string[] = []
  for (const key of Object.keys(before)) {
    if (key === next) continue
    if (!Object.hasOwn(after, key) || !isEqual(before[key] as Json, after[key] as Json)) differing.push(key)
  }
  for (const key of Object.keys(after)) if (key !== next && !Object.hasOwn(before, key)) differing.push(key)
  const equal = differing.some(isUnitKey) ? equalPairs(before, after) : undefined
  return differing.filter((key) => equal?.has(key) !== true).sort()
}

/** Judges the changes in the order in which they were found. */
function* judgeChanges({ input, superseded, report, changes, gains, pauses }: Judging): Yielding<void> {
  if (changes.length === 0) return
  const excuse = input.excuses === undefined ? undefined : yield* input.excuses(changes)
  const outcomeOf = outcomesBy(input, {
    isEvident: input.isEvident ?? (() => false),
    usual: weaklyIn(input),
  })
  const isExplained = explainedAmong(changes, gains, input)
  const judge = {
    superseded,
    report,
    excuse,
    isExplained,
    outcomeOf,
    offer: input.offer ?? (() => undefined),
    policy: input.policy,
  }
  for (const change of changes) {
    judgeChange(change, judge)
    pauses.count(CHANGE_STEPS)
    if (pauses.due()) yield
  }
}

/** Whether the value appears at another place, or follows from its siblings. */
function explainedAmong(
  changes: readonly Change[],
  gains: readonly Gain[],
  documents: EstablishedInput,
): (change: Change) => boolean {
  const moved = movedAmong(documents.before, changes, gains)
  const isDerived = derivedIn(documents)
  const isSaidOnce = saidOnceIn(documents.after)
  const isWorkedOff = workedOffIn(documents)
  return (change) => moved.has(change) || isDerived(change) || isSaidOnce(change) || isWorkedOff(change)
}

function* checkGains({ input, gains, report, pauses }: Judging, isProtected: (key: string) => boolean): Yielding<void> {
  if (gains.length === 0) return
  const { before, after, policy, trunk, isRecorded } = input
  const isJudged = (place: readonly Token[]): boolean => isProtected(topKey(place, trunk))
  const judged = gains.filter(({ place }) => isJudged(place))
  const stated: Gain[] = []
  for (const gain of judged) {
    if (isRecorded === undefined || !(yield* isRecorded(gain))) stated.push(gain)
    if (pauses.due()) yield
  }
  yield* checkRestated({ before, gains: stated, mode: policy.restated ?? 'sure', trunk, isJudged }, report, pauses)
  if (pauses.due()) yield
  yield* checkTotals({ before, after, gains: judged }, report, pauses)
}

function startJudging(input: EstablishedInput, report: Report, pauses: Pauses): Judging {
  const { before, after, policy, trunk, agent } = input
  const inputs = mayNotSupersede(input) ? [] : (input.supersedes ?? [])
  if (inputs !== input.supersedes && (input.supersedes?.length ?? 0) > 0 && inputs.length === 0) {
    const message = `the policy does not let ${agent ?? 'this agent'} supersede; it lets ${policy.supersede?.roles?.join(', ')}`
    addFinding(report, {
      rule: 'supersedes-invalid',
      severity: 'error',
      path: input.supersedes?.[0]?.path ?? '',
      message,
    })
  }
  const shortest = policy.supersede?.reasonMinChars
  const holding = inputs.length === 0 ? [] : checkSupersessions(inputs, { before, after, trunk }, report, shortest)
  const [changes, gains]: [Change[], Gain[]] = [[], []]
  const below = { isProse: false }
  return {
    input,
    superseded: supersededTree(holding),
    report,
    changes,
    gains,
    below,
    documents: [before, after],
    known: noSignatures(pauses),
    pauses,
    wasLeft: input.left === undefined ? () => false : leftWordsOf(input.left, before),
    compare: compareValues,
    place: [],
    afterPlace: [],
    sink: sinkOf(report, { changes, gains, below }),
  }
}

/** Whether a value below a key of prose can contradict anything. A text can do so only if the policy declares rules on places. */
function mayContradict(value: Json | undefined, { policy }: EstablishedInput): boolean {
  return typeof value !== 'string' || declaresPlaces(policy)
}

function checkConversation(
  { changes }: Judging,
  key: string,
  { level, rules }: { readonly level: Level; readonly rules: PlaceRules },
): void {
  const before = level.before[key] as JsonObject[]
  for (const { index, ...message } of rewrittenIn(before, level.after[key])) {
    const place = [...level.place, key, index]
    changes.push({ kind: 'changed', place, afterPlace: place, ...message, rules, isProse: true })
  }
}

/** A text that is not a measure, whatever its change, or a list of texts in another order. */
function isFreeText(change: Change): boolean {
  const { kind, before, place } = change
  if (isDeclared(change)) return false
  if (kind === 'reordered' && Array.isArray(before)) return before.every((each) => typeof each === 'string')
  return typeof before === 'string' && readScalar(before, placeKind(`${place.at(-1)}`, false)).kind === 'text'
}

function mayNotSupersede({ policy, agent }: EstablishedInput): boolean {
  const roles = policy.supersede?.roles
  return roles !== undefined && (agent === undefined || !roles.includes(agent))
}

function sinkOf(report: Report, { changes, gains, below }: Pick<Judging, 'changes' | 'gains' | 'below'>): ChangeSink {
  return {
    change: (change) => {
      noteDifference(change, report)
      const { place, afterPlace } = change
      const kept = { ...change, place: [...place], afterPlace: afterPlace && [...afterPlace] }
      if (!below.isProse) changes.push(kept)
      else if (!isFreeText(change)) changes.push({ ...kept, isProse: true })
    },
    modified: (place) => addDifference(report, 'modified', place),
    moved: (place) => {
      addDifference(report, 'modified', place)
      if (!below.isProse) report.lostLeaves += 1
    },
    dropped: (place) => addDifference(report, 'removed', place),
    gained: (place, value) => {
      addDifference(report, 'added', place)
      if (gains.length < GAINS_MAX) gains.push({ place: [...place], value })
    },
  }
}

function* checkKey(
  judging: Judging,
  key: string,
  { level, rules }: { readonly level: Level; readonly rules: PlaceRules },
): Yielding<void> {
  const { before, after } = level
  const { policy } = judging.input
  judging.place.push(...level.place, key)
  judging.afterPlace.push(...level.place, key)
  if (!Object.hasOwn(before, key)) judging.sink.gained(judging.afterPlace, after[key] as Json)
  else if (!Object.hasOwn(after, key)) goneKey(judging, key, { before: before[key] as Json, policy, rules })
  else {
    const here = { key, kind: placeKind(key, key === 'entities'), rules }
    const inside = compareValues(judging, before[key] as Json, after[key] as Json, here)
    if (inside !== undefined) yield* inside
  }
  judging.place.length = 0
  judging.afterPlace.length = 0
}

/** Reports a removed key; a critical key must not be removed even if its value is empty. */
function goneKey(
  judging: Judging,
  key: string,
  removed: { before: Json; policy: ResolvedPolicy; rules: PlaceRules },
): void {
  const isCritical = removed.policy.criticalKeys.includes(key)
  if (!isCritical && (removed.before === null || removed.before === '')) {
    judging.sink.dropped(judging.place)
    return
  }
  const { before, rules } = removed
  judging.sink.change({
    kind: 'removed',
    isCritical,
    place: judging.place,
    afterPlace: undefined,
    before,
    after: undefined,
    rules,
  })
}

function checkShadows(
  judging: Judging,
  by: {
    readonly level: Level
    readonly isProtected: (key: string) => boolean
    readonly rules: PlaceRules
    readonly gained: readonly string[]
  },
): void {
  const { level, isProtected, rules, gained } = by
  const { before, after } = level
  if (gained.length === 0) return
  for (const { key, gainedKey } of shadowedBy(before, after, gained, judging.known)) {
    if (!isProtected(key)) continue
    const place = [...level.place, gainedKey]
    const [established, now] = [before[key] as Json, after[gainedKey] as Json]
    judging.sink.change({
      kind: 'shadow',
      place,
      of: [...level.place, key],
      afterPlace: place,
      before: established,
      after: now,
      rules: rulesBelow(rules, key),
    })
  }
}

function checkProtection(input: EstablishedInput, isProtected: (key: string) => boolean, report: Report): void {
  if (!hasTopKey(input, () => true) || hasTopKey(input, isProtected)) return
  const message =
    'none of the established keys is protected, so that nothing could be contradicted: see protect and free in the policy'
  addFinding(report, { rule: 'nothing-protected', severity: 'warning', path: '', message })
}

/** Share of established leaves that were kept; undefined if no established key is protected. */
export function keptShare(input: EstablishedInput, report: Report): number | undefined {
  const isProtected = protectedBy(input.policy)
  if (!hasTopKey(input, isProtected)) return hasTopKey(input, () => true) ? undefined : 1
  if (report.lostLeaves === 0) return 1
  let established = 0
  for (const { before, next } of levelsOf(input.before, input.after, input.trunk)) {
    const kept = Object.keys(before).filter((key) => key !== next && isProtected(key))
    for (const key of kept) established += countLeaves(before[key] as Json)
  }
  return Math.max(0, (established - report.lostLeaves) / established)
}

/** Whether a condition holds for an established top-level key. */
function hasTopKey({ before, after, trunk }: EstablishedInput, holds: (key: string) => boolean): boolean {
  return levelsOf(before, after, trunk).some((level) =>
    Object.keys(level.before).some((key) => key !== level.next && holds(key)),
  )
}

// Messages of a conversation that were rewritten.

interface Rewritten {
  readonly index: number
  readonly before: JsonObject
  readonly after: JsonObject
}

/** Whether the value is a list of messages `{role, content}` or `{type, content}`. */
function isConversation(value: Json | undefined): value is JsonObject[] {
  return Array.isArray(value) && value.length > 0 && value.every((each) => isJsonObject(each) && isMessage(each))
}

/** Messages that differ from the established ones at the same index, while others are unchanged. A message that only grew is still being written. */
function rewrittenIn(before: readonly JsonObject[], after: Json | undefined): readonly Rewritten[] {
  if (!isConversation(after) || after.length < before.length) return []
  const pairs = before.map((was, index) => ({ index, before: was, after: after[index] as JsonObject }))
  const isKept = (pair: Rewritten): boolean => isEqual(pair.before, pair.after)
  if (!pairs.some((pair) => isKept(pair) && !SETTING.has(speakerOf(pair.before)))) return []
  return pairs.filter(
    (pair) =>
      !isKept(pair) && speakerOf(pair.before) === speakerOf(pair.after) && !isContinued(pair.before, pair.after),
  )
}

/** Speakers whose messages a program repeats at each turn, so that an unchanged one is no evidence that the conversation is the same. */
const SETTING: ReadonlySet<Json | undefined> = new Set(['system', 'developer'])

function isMessage(value: JsonObject): boolean {
  return Object.hasOwn(value, 'content') && (Object.hasOwn(value, 'role') || Object.hasOwn(value, 'type'))
}

function speakerOf(message: JsonObject): Json | undefined {
  return message.role ?? message.type
}

function isContinued({ content: was }: JsonObject, { content: now }: JsonObject): boolean {
  if (isEqual(was as Json, now as Json)) return true
  return typeof was === 'string' && typeof now === 'string' && now.startsWith(was)
}
