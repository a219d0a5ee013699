/** @module Redacts one text or number by the rules that search texts. */
import { MARKER_BEGINS } from '../../../schemas/redacted-parts.ts'
import type { Keep, RedactionDetector } from '../../../schemas/redaction.ts'
import type { Yielding } from '../yielding.ts'
import type { CompiledRule } from './compile-rules.ts'
import { spansOf } from './detectors.ts'
import { plainForm } from './plain-form.ts'
import type { Span } from './scan-text.ts'
import type { TextSteps } from './text-steps.ts'

/** Keyed digest of a text; it reveals nothing without the key. For a rule with `keep`, the key is that of the data subject. */
export type Blind = (text: string, keep?: Keep) => string

export const SEARCHED_TEXT_MAX_CHARS = 1024 * 1024
/** Maximum number of redacted parts; less than the number of pointers in a body of maximum size. */
export const LEFT_OUT_MAX = 10_000
/** Steps to write a marker, and to compute the digest in it. */
const MARKER_STEPS = 10
const DIGEST_STEPS = 250
/** Minimum length of a text in which a detector can find something, in characters. */
const SHORTEST_CHARS = 5
const TAG_CHARS = 32

export class TextTooLong extends Error {}

export class TooMuchLeftOut extends Error {}

export interface RedactedText {
  readonly text: string
  /** The rule of each redacted part. */
  readonly by: readonly CompiledRule[]
}

export interface TextSearch {
  readonly rules: readonly CompiledRule[]
  readonly blind: Blind
  readonly steps: TextSteps
}

/** The marker that replaces a value. */
export function markerOf({ name, comparable, keep }: CompiledRule, valueText: string, blind: Blind): string {
  return comparable || keep !== undefined
    ? `${MARKER_BEGINS}${name} #${blind(`${name}\n${valueText}`, keep).slice(-TAG_CHARS)}]`
    : `${MARKER_BEGINS}${name}]`
}

const MARKER = /^\[redacted: ([a-z-]+)(?: #[0-9a-f]{32})?\]$/

/** Whether the text is a carried-over marker of a rule in force; no rule changes it. */
export function isMarker(text: string, names: ReadonlySet<string>): boolean {
  if (!text.startsWith(MARKER_BEGINS)) return false
  const name = MARKER.exec(text)?.[1]
  return name !== undefined && names.has(name)
}

/** Undefined if nothing is redacted. Throws `WorkExhausted`, `TextTooLong` and `TooMuchLeftOut`. */
export function* searchText(text: string, search: TextSearch): Yielding<RedactedText | undefined> {
  const { rules, blind, steps } = search
  if (rules.length === 0) return undefined
  if (text.length > SEARCHED_TEXT_MAX_CHARS) throw new TextTooLong()
  for (const rule of rules) {
    if (rule.pattern === undefined || !(yield* rule.pattern.search(text, steps.work, steps.pauses))) continue
    return whole(text, rule, search)
  }
  if (text.length < SHORTEST_CHARS) return undefined
  const plain = yield* plainForm(text, SEARCHED_TEXT_MAX_CHARS * 2, steps)
  const found = new Map<RedactionDetector, CompiledRule>()
  const lists: PartsInOrder[] = []
  for (const rule of rules) {
    for (const detector of rule.find) {
      if (found.has(detector)) continue
      found.set(detector, rule)
      const spans = yield* spansOf(detector, text, steps)
      // Look-alike or invisible characters hide a match, so its position in the original text is unknown.
      if (plain !== undefined && countOf(yield* spansOf(detector, plain, steps)) > countOf(spans)) {
        return whole(text, rule, search)
      }
      lists.push(...spans.map((each) => ({ rule, spans: each, next: 0 })))
    }
  }
  if (lists.every(({ spans }) => spans.length === 0)) return undefined
  return yield* without(text, yield* joined(lists, steps), { blind, steps })
}

function whole(text: string, rule: CompiledRule, { blind, steps }: TextSearch): RedactedText {
  steps.read(text.length)
  return { text: markerOf(rule, text, blind), by: [rule] }
}

function countOf(lists: readonly (readonly Span[])[]): number {
  return lists.reduce((count, { length }) => count + length, 0)
}

interface PartsInOrder {
  readonly rule: CompiledRule
  readonly spans: readonly Span[]
  /** Index in `spans` of the next part to take. */
  next: number
}

interface Part extends Span {
  readonly rule: CompiledRule
}

/** Merges overlapping parts into one, under the rule that comes first. */
function* joined(lists: readonly PartsInOrder[], steps: TextSteps): Yielding<Part[]> {
  const parts: Part[] = []
  for (let list = firstOf(lists); list !== undefined; list = firstOf(lists)) {
    steps.spend(lists.length)
    if (steps.due()) yield
    const { from, to } = list.spans[list.next] as Span
    list.next += 1
    const last = parts.at(-1)
    if (last === undefined || from >= last.to) parts.push({ from, to, rule: list.rule })
    else {
      const rule = list.rule.order < last.rule.order ? list.rule : last.rule
      parts[parts.length - 1] = { from: last.from, to: Math.max(last.to, to), rule }
    }
  }
  return parts
}

/** The list whose next part starts first. */
function firstOf(lists: readonly PartsInOrder[]): PartsInOrder | undefined {
  let first: PartsInOrder | undefined
  let least = Number.POSITIVE_INFINITY
  for (const list of lists) {
    const from = list.spans[list.next]?.from ?? Number.POSITIVE_INFINITY
    if (from >= least) continue
    least = from
    first = list
  }
  return first
}

function* without(
  text: string,
  parts: readonly Part[],
  { blind, steps }: Pick<TextSearch, 'blind' | 'steps'>,
): Yielding<RedactedText> {
  if (parts.length > LEFT_OUT_MAX) throw new TooMuchLeftOut()
  let rest = 0
  let remaining = ''
  for (const { from, to, rule } of parts) {
    steps.read(to - from)
    steps.spend(rule.comparable ? DIGEST_STEPS : MARKER_STEPS)
    if (steps.due()) yield
    remaining += text.slice(rest, from) + markerOf(rule, text.slice(from, to), blind)
    rest = to
  }
  return { text: remaining + text.slice(rest), by: parts.map(({ rule }) => rule) }
}
