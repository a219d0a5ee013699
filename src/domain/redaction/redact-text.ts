/** @module One text, or one number, under the rules that look into it. */
import { MARKER_BEGINS } from '../../../schemas/redacted-parts.ts'
import type { RedactionDetector } from '../../../schemas/redaction.ts'
import { spend, type Work } from '../json-schema/work.ts'
import type { CompiledRule } from './compile-rules.ts'
import { type Span, spansOf } from './detectors.ts'

/** Keyed digest of a text: who does not hold the key learns nothing from it. */
export type Blind = (text: string) => string

/** A text is looked through in one go. */
export const SEARCHED_TEXT_MAX_CHARS = 1024 * 1024
/** Characters that a detector reads in the time of a step. */
const CHARS_A_STEP = 4
/** No detector finds anything in less. */
const SHORTEST_CHARS = 5
const TAG_CHARS = 32

export class TextTooLong extends Error {}

export interface RedactedText {
  readonly text: string
  /** By rule, once a part that was left out. */
  readonly by: readonly CompiledRule[]
}

export interface TextSearch {
  readonly rules: readonly CompiledRule[]
  readonly blind: Blind
  readonly work: Work
}

/** What is in the place of a value. */
export function markerOf({ name, comparable }: CompiledRule, valueText: string, blind: Blind): string {
  return comparable
    ? `${MARKER_BEGINS}${name} #${blind(`${name}\n${valueText}`).slice(-TAG_CHARS)}]`
    : `${MARKER_BEGINS}${name}]`
}

const MARKER = /^\[redacted: ([a-z-]+)(?: #[0-9a-f]{32})?\]$/

/** A marker that is carried on, of a rule that is in force: left as it is by every rule. */
export function isMarker(text: string, names: ReadonlySet<string>): boolean {
  if (!text.startsWith(MARKER_BEGINS)) return false
  const name = MARKER.exec(text)?.[1]
  return name !== undefined && names.has(name)
}

/** Undefined where nothing is to be left out. Throws `WorkExhausted` and `TextTooLong`. */
export function searchText(text: string, search: TextSearch): RedactedText | undefined {
  const { rules, blind } = search
  if (rules.length === 0) return undefined
  if (text.length > SEARCHED_TEXT_MAX_CHARS) throw new TextTooLong()
  const whole = rules.find((rule) => rule.pattern?.test(text, search.work) === true)
  if (whole !== undefined) return { text: markerOf(whole, text, blind), by: [whole] }
  if (text.length < SHORTEST_CHARS) return undefined
  const plain = plainForm(text)
  const parts: Part[] = []
  const found = new Map<RedactionDetector, readonly Span[]>()
  for (const rule of rules) {
    for (const detector of rule.find) {
      if (found.has(detector)) continue
      spend(search.work, text.length / CHARS_A_STEP + 1)
      const spans = spansOf(detector, text)
      found.set(detector, spans)
      // Hidden by characters that look alike or are not seen: where it stands cannot be told.
      if (plain !== undefined && spansOf(detector, plain).length > spans.length) {
        return { text: markerOf(rule, text, blind), by: [rule] }
      }
      parts.push(...spans.map((span) => ({ ...span, rule })))
    }
  }
  return parts.length === 0 ? undefined : without(text, parts, blind)
}

interface Part extends Span {
  readonly rule: CompiledRule
}

/** Parts that overlap are one, by the rule that comes first. */
function without(text: string, parts: Part[], blind: Blind): RedactedText {
  parts.sort((a, b) => a.from - b.from || a.rule.order - b.rule.order)
  const merged: Part[] = []
  for (const part of parts) {
    const last = merged.at(-1)
    if (last === undefined || part.from >= last.to) merged.push(part)
    else {
      const rule = part.rule.order < last.rule.order ? part.rule : last.rule
      merged[merged.length - 1] = { from: last.from, to: Math.max(last.to, part.to), rule }
    }
  }
  let rest = 0
  let remaining = ''
  for (const { from, to, rule } of merged) {
    remaining += text.slice(rest, from) + markerOf(rule, text.slice(from, to), blind)
    rest = to
  }
  return { text: remaining + text.slice(rest), by: merged.map(({ rule }) => rule) }
}

/** Full-width digits as digits, and nothing that is not seen; undefined where that changes nothing. */
function plainForm(text: string): string | undefined {
  if (/^[\x20-\x7e\s]*$/.test(text)) return undefined
  const plain = text.normalize('NFKC').replaceAll(/[\p{Cf}\p{Cc}]/gu, '')
  return plain === text || plain.length > SEARCHED_TEXT_MAX_CHARS * 2 ? undefined : plain
}
