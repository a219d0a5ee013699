/**
 * @module One text, read from its beginning to its end by what finds things in it. Whatever is found begins with one of a few ASCII characters; what is
 * read from there on is bounded, or is not read again. So the time is linear in the text, and every character that is read is counted.
 */
import type { Paced } from '../paced.ts'
import { type AsciiSet, isIn } from './characters.ts'
import { BLOCK_CHARS, type TextSteps } from './text-steps.ts'

/** A part of a text: `[from, to)` in UTF-16 code units. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** What is found, in the order of the text. */
export interface Finding {
  readonly spans: Span[]
  readonly steps: TextSteps
}

export interface Scanner {
  /** What it finds begins with one of these, or lies around it. */
  readonly begins: AsciiSet
  /** Looks at what begins at `at`, and answers where to go on: behind `at`. Paced where the part has no longest length. */
  readonly find: (text: string, at: number, finding: Finding) => number | Paced<number>
}

/** What a text takes before its first character, in steps between pauses. */
const SCAN_STEPS = 4

export function* scanText({ begins, find }: Scanner, text: string, steps: TextSteps): Paced<Span[]> {
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

/** The first of a set, else `end`. No generator: the engine makes these loops fast. */
function firstIn(set: AsciiSet, text: string, from: number, end: number): number {
  let at = from
  while (at < end && !isIn(set, text, at)) at += 1
  return at
}

/** The first that is not in a set, else `end`. */
export function firstNotIn(set: AsciiSet, text: string, from: number, end: number): number {
  let at = from
  while (at < end && isIn(set, text, at)) at += 1
  return at
}

/** Where the characters of a set end, from `at` on. */
export function* endOf(set: AsciiSet, text: string, at: number, steps: TextSteps): Paced<number> {
  for (let from = at; ; ) {
    const end = from + BLOCK_CHARS
    const to = firstNotIn(set, text, from, end)
    steps.read(to - from + 1)
    if (to < end) return to
    from = to
    if (steps.due()) yield
  }
}

/** As `indexOf`. */
export function* placeOf(what: string, text: string, at: number, steps: TextSteps): Paced<number> {
  for (let from = at; from < text.length; from += BLOCK_CHARS) {
    const found = text.slice(from, from + BLOCK_CHARS + what.length - 1).indexOf(what)
    steps.read(found === -1 ? BLOCK_CHARS : found + 1)
    if (found !== -1) return from + found
    if (steps.due()) yield
  }
  return -1
}
