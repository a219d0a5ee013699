/**
 * @module Parses large JSON texts by the rules of `json-scan.ts` in slices of counted steps: keys, items, escapes and characters each cost
 * a step or a fraction of one. The result, value or refusal, is that of `parseStrictJson`. This parser takes somewhat more time in total,
 * so small texts are not read by it.
 */
import { type Json, parseJson } from '../../schemas/json.ts'
import { type JsonResult, jsonPointer } from './json-error.ts'
import {
  beginScan,
  enter,
  leave,
  nextBackslash,
  refuseControl,
  refuseDouble,
  refuseEndless,
  type Scan,
  type ScanLimits,
  scanEscape,
  scanScalar,
  skipSpace,
  takeKey,
  unexpected,
} from './json-scan.ts'

/** Steps between two pauses; a step takes about 300 ns. */
export const SLICE_STEPS = 2_000
/** Characters of a string per step. A long string is assembled from pieces of about `SLICE_STEPS` steps. */
const STEP_CHARS = 64
const PIECE_CHARS = STEP_CHARS * SLICE_STEPS
/** Strings of up to this many characters are read without a pause. */
const SHORT_CHARS = 256

const QUOTE = 0x22
const COMMA = 0x2c
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** An open list or object. */
type Frame =
  | { readonly kind: 'list'; readonly container: Json[] }
  | { readonly kind: 'object'; readonly container: { [key: string]: Json }; key: string }

/** Yields at each pause the number of steps since the previous one. */
export type Sliced<T> = Generator<number, T, void>

interface Reading {
  readonly scan: Scan
  /** Open lists and objects, outermost first. */
  readonly frames: Frame[]
  /** How many of the frames are part of the current path: a key belongs to the object that contains it, not to its current member. */
  depth: number
  steps: number
  /** The first string that only `JSON.parse` would refuse, and its place. It is reported only if the text has no other fault. */
  control: { readonly start: number; readonly path: readonly (string | number)[] } | undefined
}

/** Parses text that is known to be well-formed Unicode. Each yielded number is the steps of the slice that ended. */
export function* parseInSlices(text: string, limits: ScanLimits): Sliced<JsonResult> {
  const reading: Reading = { scan: beginScan(text, limits), frames: [], depth: 0, steps: 0, control: undefined }
  const { scan } = reading
  skipSpace(scan)
  const value = yield* readValue(reading)
  if (value !== undefined) {
    skipSpace(scan)
    if (scan.at < text.length) unexpected(scan)
  }
  const { control } = reading
  if (scan.refusal === undefined && control !== undefined) {
    refuseControl(scan, control.start)
    scan.path.push(...control.path)
  }
  const { refusal, path } = scan
  if (refusal === undefined) return { ok: true, value: value as Json }
  return { ok: false, error: { ...refusal, pointer: jsonPointer(path.reverse()) } }
}

/** Reads one value with everything in it; undefined if it is refused. */
function* readValue(reading: Reading): Sliced<Json | undefined> {
  const { scan, frames } = reading
  for (;;) {
    if (isDue(reading, 1)) yield spent(reading)
    const open = frames.at(-1)
    if (open?.kind === 'object') {
      reading.depth = frames.length - 1
      const start = scan.at
      const key = shortString(reading) ?? (yield* longString(reading))
      if (key === undefined || !putKey(reading, open, { start, key })) return refusedIn(reading, frames.length - 1)
    }
    reading.depth = frames.length
    const code = scan.text.charCodeAt(scan.at)
    let value: Json | undefined
    if (code === QUOTE) value = shortString(reading) ?? (yield* longString(reading))
    else if (code !== OPEN_LIST && code !== OPEN_OBJECT) value = scanScalar(scan)
    else if (enter(scan)) {
      frames.push(code === OPEN_LIST ? { kind: 'list', container: [] } : { kind: 'object', container: {}, key: '' })
      if (scan.text.charCodeAt(scan.at) !== (code === OPEN_LIST ? CLOSE_LIST : CLOSE_OBJECT)) continue
      leave(scan)
      value = frames.pop()?.container
    }
    if (value === undefined) return refusedIn(reading, frames.length)
    const ended = putAndClose(reading, value)
    if (ended !== undefined) return ended.value
  }
}

/** Adds a value to its container and closes the containers that end after it. Returns undefined if another value follows. */
function putAndClose(reading: Reading, made: Json): { readonly value: Json | undefined } | undefined {
  const { scan, frames } = reading
  let value = made
  for (let frame = frames.at(-1); frame !== undefined; frame = frames.at(-1)) {
    if (frame.kind === 'list') frame.container.push(value)
    else frame.container[frame.key] = value
    skipSpace(scan)
    const code = scan.text.charCodeAt(scan.at)
    if (code === COMMA) {
      scan.at++
      skipSpace(scan)
      return undefined
    }
    if (code !== (frame.kind === 'list' ? CLOSE_LIST : CLOSE_OBJECT)) {
      unexpected(scan)
      return { value: refusedIn(reading, frames.length - 1) }
    }
    leave(scan)
    value = frame.container
    frames.pop()
  }
  return { value }
}

/** Returns false if the key is refused. */
function putKey(
  reading: Reading,
  frame: Extract<Frame, { kind: 'object' }>,
  { start, key }: { readonly start: number; readonly key: string },
): boolean {
  const { scan, control } = reading
  if (control?.start === start && scan.text.slice(start, scan.at).includes('\\')) {
    // An escaped key must be decoded before it can be used, so a control character in it is an error at once.
    reading.control = undefined
    return refuseControl(scan, start)
  }
  if (!takeKey(scan, start, key)) return false
  if (Object.hasOwn(frame.container, key)) return refuseDouble(scan, start, key)
  frame.key = key
  return true
}

/** The string at the current offset, if it is short and has no escapes; otherwise undefined, with nothing consumed. */
function shortString(reading: Reading): string | undefined {
  const { scan } = reading
  const { text, at } = scan
  if (text.charCodeAt(at) !== QUOTE) return undefined
  const quote = text.indexOf('"', at + 1)
  if (quote < 0 || quote - at > SHORT_CHARS || quote > scan.backslash) return undefined
  scan.at = quote + 1
  return stringOf(reading, at, text.slice(at + 1, quote))
}

/** The string at the current offset; undefined if it is refused. */
function* longString(reading: Reading): Sliced<string | undefined> {
  const { scan } = reading
  const { text, at: start } = scan
  if (text.charCodeAt(start) !== QUOTE) return void unexpected(scan)
  const cuts = yield* findEnd(reading, start)
  if (cuts === undefined) return undefined
  const pieces: string[] = []
  for (const [index, cut] of cuts.entries()) {
    const piece = text.slice(cut, cuts[index + 1] ?? scan.at - 1)
    pieces.push(stringOf(reading, start, piece))
    if (isDue(reading, piece.length / STEP_CHARS)) yield spent(reading)
  }
  return pieces.join('')
}

/** Moves behind the string and returns the offsets where it may be cut, none of them within an escape. */
function* findEnd(reading: Reading, start: number): Sliced<readonly number[] | undefined> {
  const { scan } = reading
  const { text } = scan
  const cuts = [start + 1]
  let quote = text.indexOf('"', start + 1)
  let after = start + 1
  while (quote >= 0 && scan.backslash < quote) {
    cutPlain(cuts, after, scan.backslash)
    after = scanEscape(scan)
    if (after < 0) return undefined
    scan.backslash = nextBackslash(text, after)
    if (quote < after) quote = text.indexOf('"', after)
    if (isDue(reading, 1)) yield spent(reading)
  }
  if (quote < 0) return void refuseEndless(scan, start)
  cutPlain(cuts, after, quote)
  scan.at = quote + 1
  return cuts
}

/** Cuts a run without escapes wherever a piece would become too long. */
function cutPlain(cuts: number[], from: number, to: number): void {
  let last = cuts.at(-1) ?? from
  while (to - last >= PIECE_CHARS) {
    last = Math.max(from, last + PIECE_CHARS)
    cuts.push(last)
  }
}

/** Decodes a piece of a string. A piece with a control character is returned as it is, and its place is remembered. */
function stringOf(reading: Reading, start: number, piece: string): string {
  try {
    return parseJson<string>(`"${piece}"`)
  } catch {
    reading.control ??= { start, path: pathTo(reading, reading.depth) }
    return piece
  }
}

/** Records the path of a refusal: the `depth` outermost open containers. */
function refusedIn(reading: Reading, depth: number): undefined {
  reading.scan.path.push(...pathTo(reading, depth))
}

/** Path tokens, innermost first. */
function pathTo({ frames }: Reading, depth: number): (string | number)[] {
  return frames
    .slice(0, depth)
    .map((frame) => (frame.kind === 'list' ? frame.container.length : frame.key))
    .reverse()
}

function isDue(reading: Reading, steps: number): boolean {
  reading.steps += steps
  return reading.steps >= SLICE_STEPS
}

function spent(reading: Reading): number {
  const { steps } = reading
  reading.steps = 0
  return steps
}
