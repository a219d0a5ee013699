/**
 * @module Scans a text once for matches of a detector. Each match starts with one of a few ASCII characters; the characters read from
 * there on are bounded, or are not read again. The time is therefore linear in the text, and every character read is counted.
 */
import type { Yielding } from '../yielding.ts'
import { type AsciiSet, isIn } from './characters.ts'
import { BLOCK_CHARS, type TextSteps } from './text-steps.ts'

/** A part of a text: `[from, to)` in UTF-16 code units. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** The matches found, in text order. */
export interface Finding {
  readonly spans: Span[]
  readonly steps: TextSteps
}

export interface Scanner {
  /** A match starts with one of these characters, or surrounds it. */
  readonly begins: AsciiSet
  /** Examines the text at `at` and returns the position after `at` from which to continue. Yielding if a match has no maximum length. */
  readonly find: (text: string, at: number, finding: Finding) => number | Yielding<number>
}

/** Fixed cost per text, in steps between pauses. */
const SCAN_STEPS = 4

export function* scanText({ begins, find }: Scanner, text: string, steps: TextSteps): Yielding<Span[]> {
  const spans: Span[] = []
  const finding: Finding = { spans, steps }
  steps.pauses.count(SCAN_STEPS)
  for (let at = 0; at < text.length; ) {
    const from = at
    const end = Math.min(text.length, from + BLOCK_CHARS)
    at = firstIn(begins, text, from, end)
    steps.read(at - from + 1)
    if (at < end) {
      const next = find(text, at, finding)
      at = typeof next === 'number' ? next : yield* next
    }
    if (steps.due()) yield
  }
  steps.charge()
  return spans
}

/** Position of the first character that is in the set, or `end`. Not a generator, because the engine optimises plain loops. */
function firstIn(set: AsciiSet, text: string, from: number, end: number): number {
  let at = from
  while (at < end && !isIn(set, text, at)) at += 1
  return at
}

/** Position of the first character that is not in the set, or `end`. */
export function firstNotIn(set: AsciiSet, text: string, from: number, end: number): number {
  let at = from
  while (at < end && isIn(set, text, at)) at += 1
  return at
}

/** End of the run of characters of the set that starts at `at`. */
export function* endOf(set: AsciiSet, text: string, at: number, steps: TextSteps): Yielding<number> {
  for (let from = at; ; ) {
    const end = from + BLOCK_CHARS
    const to = firstNotIn(set, text, from, end)
    steps.read(to - from + 1)
    if (to < end) return to
    from = to
    if (steps.due()) yield
  }
}

/** Like `indexOf`, with pauses. */
export function* placeOf(what: string, text: string, at: number, steps: TextSteps): Yielding<number> {
  for (let from = at; from < text.length; from += BLOCK_CHARS) {
    const found = text.slice(from, from + BLOCK_CHARS + what.length - 1).indexOf(what)
    steps.read(found === -1 ? BLOCK_CHARS : found + 1)
    if (found !== -1) return from + found
    if (steps.due()) yield
  }
  return -1
}
