/**
 * @module Whether a text is its own canonical form (RFC 8785), decided in one pass: parsing it and writing it again gives the same answer
 * at three times the cost.
 */
import { isDigit } from './json-number.ts'
import { isWellFormed } from './well-formed.ts'

interface Scan {
  readonly text: string
  readonly maxDepth: number
  at: number
  depth: number
  /** Next backslash at or after `at`; the text's length where there is none. */
  backslash: number
}

const QUOTE = 0x22
const COMMA = 0x2c
const MINUS = 0x2d
const DOT = 0x2e
const ZERO = 0x30
const COLON = 0x3a
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const LOWER_E = 0x65

/** Integers of fewer digits are written by ECMAScript as they stand. */
const PLAIN_DIGITS = 15
/** The longest text that ECMAScript gives a number, with room to spare. */
const NUMBER_MAX_CHARS = 32

// biome-ignore lint/suspicious/noControlCharactersInRegex: canonical JSON has none, neither as space nor inside strings
const CONTROL = /[\u0000-\u001f]/
/** RFC 8785 section 3.2.2.2: short forms where there are any, else lowercase hex, and for control characters only. */
const ESCAPE = /\\(?:["\\bfnrt]|u00(?:0[0-7be-f]|1[0-9a-f]))/y

/** True where the text is canonical, nests no deeper than `maxDepth`, and has no key `__proto__`. Never throws. */
export function isCanonicalJson(text: string, maxDepth: number): boolean {
  if (CONTROL.test(text) || !isWellFormed(text)) return false
  const scan: Scan = { text, maxDepth, at: 0, depth: 0, backslash: nextBackslash(text, 0) }
  return scanValue(scan) && scan.at === text.length
}

function scanValue(scan: Scan): boolean {
  const code = scan.text.charCodeAt(scan.at)
  if (code === QUOTE) return scanString(scan)
  if (code === OPEN_OBJECT) return scanObject(scan)
  if (code === OPEN_LIST) return scanList(scan)
  if (code === MINUS || isDigit(code)) return scanNumber(scan)
  return scanWord(scan, 'true') || scanWord(scan, 'false') || scanWord(scan, 'null')
}

function scanWord(scan: Scan, word: string): boolean {
  if (!scan.text.startsWith(word, scan.at)) return false
  scan.at += word.length
  return true
}

function scanList(scan: Scan): boolean {
  if (scan.depth === scan.maxDepth) return false
  scan.depth++
  scan.at++
  if (scan.text.charCodeAt(scan.at) === CLOSE_LIST) return leave(scan)
  for (;;) {
    if (!scanValue(scan)) return false
    const code = scan.text.charCodeAt(scan.at)
    if (code === CLOSE_LIST) return leave(scan)
    if (code !== COMMA) return false
    scan.at++
  }
}

/** Keys that rise strictly are in order and none repeats. */
function scanObject(scan: Scan): boolean {
  if (scan.depth === scan.maxDepth) return false
  scan.depth++
  scan.at++
  if (scan.text.charCodeAt(scan.at) === CLOSE_OBJECT) return leave(scan)
  let before: string | undefined
  for (;;) {
    const key = scanKey(scan)
    if (key === undefined || key === '__proto__' || (before !== undefined && key <= before)) return false
    before = key
    if (!scanValue(scan)) return false
    const code = scan.text.charCodeAt(scan.at)
    if (code === CLOSE_OBJECT) return leave(scan)
    if (code !== COMMA) return false
    scan.at++
  }
}

function leave(scan: Scan): boolean {
  scan.depth--
  scan.at++
  return true
}

/** The key's characters; undefined where there is no key or no colon after it. */
function scanKey(scan: Scan): string | undefined {
  const start = scan.at
  const backslash = scan.backslash
  if (scan.text.charCodeAt(start) !== QUOTE || !scanString(scan)) return undefined
  const end = scan.at
  if (scan.text.charCodeAt(end) !== COLON) return undefined
  scan.at++
  if (backslash > end) return scan.text.slice(start + 1, end - 1)
  return JSON.parse(scan.text.slice(start, end)) as string
}

function scanString(scan: Scan): boolean {
  const { text } = scan
  let quote = text.indexOf('"', scan.at + 1)
  while (quote >= 0 && scan.backslash < quote) {
    ESCAPE.lastIndex = scan.backslash
    if (!ESCAPE.test(text)) return false
    const after = ESCAPE.lastIndex
    scan.backslash = nextBackslash(text, after)
    // Looked for anew only when the escape hid it: else many escapes before a far quote would cost quadratic time.
    if (quote < after) quote = text.indexOf('"', after)
  }
  if (quote < 0) return false
  scan.at = quote + 1
  return true
}

function nextBackslash(text: string, from: number): number {
  const at = text.indexOf('\\', from)
  return at < 0 ? text.length : at
}

function scanNumber(scan: Scan): boolean {
  const { text, at: start } = scan
  const first = text.charCodeAt(start) === MINUS ? start + 1 : start
  let at = first
  while (isDigit(text.charCodeAt(at))) at++
  const code = text.charCodeAt(at)
  if (at > first && at - first <= PLAIN_DIGITS && code !== DOT && code !== LOWER_E) {
    scan.at = at
    return text.charCodeAt(first) !== ZERO || (at === first + 1 && first === start)
  }
  while (isNumberPart(text.charCodeAt(at)) && at - start <= NUMBER_MAX_CHARS) at++
  scan.at = at
  const token = text.slice(start, at)
  const value = Number(token)
  return Number.isFinite(value) && `${value}` === token
}

function isNumberPart(code: number): boolean {
  return isDigit(code) || code === DOT || code === LOWER_E || code === MINUS || code === 0x2b
}
