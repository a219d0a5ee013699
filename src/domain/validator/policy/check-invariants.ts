/** @module Rules `invariant` and `low-confidence`: conditions that the policy requires of every accepted handoff. */
import { plainText } from '../../../../projections/plain-text.ts'
import { parseExpression } from '../../../../schemas/expression.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../../schemas/json.ts'
import { formatPointer, parsePointer, valueAt } from '../../../../schemas/json-pointer.ts'
import type { ListRule, Move, PlacePolicy } from '../../../../schemas/place-policy.ts'
import type { ResolvedPolicy } from '../../../../schemas/policy.ts'
import type { Pauses, Yielding } from '../../yielding.ts'
import { formFault, placesAt } from '../declared/declarations.ts'
import { readTime } from '../meaning/dates.ts'
import { placeKind } from '../meaning/place-kind.ts'
import { readScalar } from '../meaning/scalars.ts'
import { addFinding, type Report } from '../report.ts'
import { type Budget, evaluate, STEPS_MAX } from './evaluate.ts'

/** Steps per expression that is parsed. */
const PARSE_STEPS = 500

type Invariant = NonNullable<PlacePolicy['invariants']>[number]

export function* checkInvariants(
  invariants: readonly Invariant[],
  documents: { readonly before: JsonObject; readonly after: JsonObject },
  { report, pauses }: { readonly report: Report; readonly pauses: Pauses },
): Yielding<void> {
  const budget: Budget = { stepsLeft: STEPS_MAX, members: new Map() }
  for (const { name, expression } of invariants) {
    const { stepsLeft } = budget
    const parsed = parseExpression(expression)
    const outcome = parsed.ok ? evaluate(parsed.expression, documents, budget) : 'fails'
    pauses.count(PARSE_STEPS + stepsLeft - budget.stepsLeft)
    if (pauses.due()) yield
    if (outcome === 'holds' || outcome === 'unknown') continue
    const message =
      outcome === 'fails'
        ? `the policy's invariant "${name}" does not hold: ${expression}`
        : `the policy's invariant "${name}" takes more than ${STEPS_MAX} steps on this context and was not judged to its end`
    addFinding(report, { rule: 'invariant', severity: 'error', path: '', message })
  }
}

export function checkConfidence(confidence: number | undefined, min: number | undefined, report: Report): void {
  if (min === undefined || confidence === undefined || confidence >= min) return
  addFinding(report, {
    rule: 'low-confidence',
    severity: 'error',
    path: '',
    before: min,
    after: confidence,
    message: `the policy wants at least ${min} of what was established kept`,
  })
}

// Warns, when a value is established, that a rule of the policy has no effect on it because the value has another form (JUD-72). Pure.

type FaultOf = (value: Json, key: string) => string | undefined

/** Reports, for each place that the policy names, the first new value whose form the rule does not fit. */
export function checkEffects(
  policy: ResolvedPolicy,
  { before, after }: { readonly before: JsonObject; readonly after: JsonObject },
  report: Report,
): void {
  for (const [path, member, faultOf] of namedPlaces(policy)) {
    for (const place of placesAt(after, parsePointer(path) ?? []) ?? []) {
      const value = valueAt(after, place) ?? null
      if (value === null || (valueAt(before, place) ?? null) !== null) continue
      const fault = faultOf(value, place.at(-1) ?? '')
      if (fault === undefined) continue
      const message = `${member} of the policy has no effect here: ${fault}`
      addFinding(report, { rule: 'no-effect', severity: 'warning', path: formatPointer(place), after: value, message })
      break
    }
  }
}

function* namedPlaces(policy: ResolvedPolicy): Iterable<readonly [path: string, member: string, faultOf: FaultOf]> {
  const { monotonic = {}, tolerance = {}, lists = {}, moves = [] } = policy
  for (const path of Object.keys(monotonic)) yield [path, 'monotonic', (value, key) => orderFault(value, key, path)]
  for (const path of Object.keys(tolerance)) yield [path, 'tolerance', toleranceFault]
  for (const [path, rule] of Object.entries(lists)) yield [path, 'lists', (value) => listFault(value, rule)]
  for (const move of moves) if (move.as !== 'free') yield [move.path, 'moves', (value) => moveFault(value, move)]
}

function orderFault(value: Json, key: string, path: string): string | undefined {
  if (typeof value === 'boolean')
    return `a boolean has no order; write moves: [{"path": "${path}", "as": "done"}] where it only becomes true`
  if (isMeasure(value, key) || (typeof value === 'string' && readTime(plainText(value)) !== undefined)) return undefined
  return typeof value === 'string'
    ? `this text is neither a number nor a time; write moves: [{"path": "${path}", "as": "state", "order": [...]}] for words in an order`
    : HOLDER
}

const HOLDER = 'it holds no single value; name the place of a number or of a time below it'

function toleranceFault(value: Json, key: string): string | undefined {
  if (isMeasure(value, key)) return undefined
  if (typeof value === 'object') return HOLDER
  return `a ${typeof value === 'string' ? 'text without a number' : typeof value} differs or does not; write moves with "as": "gauge" or "cursor" for a value that may be another`
}

function isMeasure(value: Json, key: string): boolean {
  if (typeof value === 'number') return true
  if (typeof value !== 'string') return false
  const { kind } = readScalar(value, placeKind(key, false))
  return kind === 'number' || kind === 'quantity'
}

function listFault(value: Json, rule: ListRule): string | undefined {
  if (!Array.isArray(value)) return 'it holds no list; name the place of the list itself'
  if (typeof rule !== 'object' || value.length === 0) return undefined
  const isKnown = value.some((member) => isJsonObject(member) && rule.key.every((key) => Object.hasOwn(member, key)))
  return isKnown ? undefined : `no member of the list has ${rule.key.join(' and ')}; name members that they have`
}

function moveFault(value: Json, { as, order = [] }: Move): string | undefined {
  const fault = formFault(value, as)
  if (fault !== undefined) return `${fault}, and cannot move as ${as}`
  if (as !== 'state' || order.includes(`${value}`)) return undefined
  return `${JSON.stringify(value)} is no word of its order, ${order.join(', ')}; add it there`
}
