/** @module Judges one change of an established value: it is superseded, excused, or a finding. */

import type { Finding, Rule } from '../../../../schemas/finding.ts'
import { isJsonObject, type JsonObject } from '../../../../schemas/json.ts'
import { formatPointer, valueAt } from '../../../../schemas/json-pointer.ts'
import type { ResolvedPolicy } from '../../../../schemas/policy.ts'
import { asSuspect, isDeclared, type OutcomeOf } from '../outcome.ts'
import { addDifference, addFinding, countFinding, countLeaves, hasRoom, type Report } from '../report.ts'
import { type Entry, entryFor, type Superseded } from '../supersedes.ts'
import type { Change, Excuse } from './changes.ts'

export interface ChangeJudge {
  readonly superseded: Superseded
  readonly report: Report
  readonly excuse: Excuse | undefined
  /** Whether the established value is found at another place, or is derived from other numbers. */
  readonly isExplained: (change: Change) => boolean
  readonly outcomeOf: OutcomeOf
  /** Returns the declaration that could be offered for the place, if its value moves. */
  readonly offer: (change: Change) => Finding['declare']
  readonly policy: Pick<ResolvedPolicy, 'suspect'>
}

const MESSAGES: Readonly<Record<Change['kind'], string>> = {
  removed: 'was established and is gone; hand it on, or supersede it with a reason',
  changed: 'was established with another value; keep it, or supersede it with a reason',
  returned: 'goes back to a state that this run has left; go on from here, or supersede it with a reason',
  reordered: 'was established in another order, and here the order counts; keep it, or supersede it with a reason',
  duplicate: 'is there twice, with values that do not agree; hand on one of them',
  shadow:
    'is a second key for what is established under a key that reads the same; change that one, or supersede this one with a reason',
}

const CRITICAL = 'a critical key must not vanish; hand it on, or supersede it with a reason'

const RULES: Readonly<Record<Change['kind'], Rule>> = {
  removed: 'contradicted',
  changed: 'contradicted',
  returned: 'contradicted',
  reordered: 'contradicted',
  duplicate: 'duplicate-identity',
  shadow: 'shadow-key',
}

/** Adds the change to the diff; a shadow key is listed there already, as a gained member. */
export function noteDifference({ kind, place }: Change, report: Report): void {
  if (kind === 'removed') addDifference(report, 'removed', place)
  else if (kind !== 'shadow') addDifference(report, kind === 'duplicate' ? 'added' : 'modified', place)
}

export function judgeChange(change: Change, judge: ChangeJudge): void {
  const { report } = judge
  const isMoved =
    !isDeclared(change) && entryFor(judge.superseded, change.place) === undefined && judge.isExplained(change)
  if (isMoved) return
  const isFree = change.rules.move?.as === 'free' && !change.rules.immutable && !change.rules.never
  const isCounted = change.isProse !== true
  if (isCounted && (change.kind === 'removed' || change.kind === 'changed'))
    report.lostLeaves += countLeaves(change.before)
  if (isCounted && (change.kind === 'reordered' || change.kind === 'returned')) report.lostLeaves += 1
  const entry = entryFor(judge.superseded, change.place)
  if (isFree) return
  if (entry === undefined || change.rules.immutable || change.rules.never)
    refuseChange(change, judge, entry !== undefined)
  else {
    entry.covered += 1
    noteCovered(change, entry, report)
  }
}

function refuseChange(change: Change, judge: ChangeJudge, isSuperseded: boolean): void {
  const { report, excuse, policy } = judge
  const excused = isSuperseded || change.rules.immutable ? undefined : excuse?.(change)
  if (excused !== undefined) {
    addFinding(report, excused)
    return
  }
  const outcome = judge.outcomeOf(change)
  if (outcome === 'usual') return
  const isSuspect = outcome === 'suspect'
  if (isSuspect) report.suspects += 1
  const severity = isSuspect && policy.suspect !== 'refuse' ? 'warning' : 'error'
  if (!hasRoom(report, severity)) countFinding(report, severity)
  else if (isSuspect) addFinding(report, asSuspect(refusal(change, isSuperseded, judge), policy))
  else addFinding(report, refusal(change, isSuperseded, judge))
}

function refusal(change: Change, isSuperseded: boolean, { offer }: ChangeJudge): Finding {
  if (change.rules.immutable)
    return findingOf(change, 'immutable', 'the policy says that this does not change, superseded or not')
  if (isSuperseded) return findingOf(change, 'supersedes-invalid', 'the policy does not let this be superseded')
  const { kind, isCritical } = change
  const found =
    isCritical === true
      ? findingOf(change, 'critical-key-removed', CRITICAL)
      : findingOf(change, RULES[kind], MESSAGES[kind])
  const declare = offer(change)
  return { ...found, supersede: { path: found.path, reason: '' }, ...(declare !== undefined && { declare }) }
}

function noteCovered(change: Change, { tokens }: Entry, report: Report): void {
  const message = `changed under the reason given for ${formatPointer(tokens)}`
  addFinding(report, { ...findingOf(change, 'superseded', message), severity: 'info' })
}

function findingOf({ place, before, after, of }: Change, rule: Rule, message: string): Finding {
  const path = formatPointer(place)
  if (after === undefined) return { rule, severity: 'error', path, before, message }
  const found: Finding = { rule, severity: 'error', path, before, after, message }
  return of === undefined ? found : { ...found, of: formatPointer(of) }
}

/** One entry must not excuse several changes in a whole section: each change needs its own reason. */
export function judgeEntries({ root }: Superseded, before: JsonObject, report: Report): void {
  for (const { entry } of root.children.values()) {
    if (entry === undefined || entry.covered < 2 || !isJsonObject(valueAt(before, entry.tokens) ?? null)) continue
    addFinding(report, {
      rule: 'supersedes-invalid',
      severity: 'error',
      path: formatPointer(entry.tokens),
      message: `covers ${entry.covered} changes with one reason; supersede each of them with its own`,
    })
  }
}
