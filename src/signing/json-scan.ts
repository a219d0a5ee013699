/**
 * @module One pass over JSON text (RFC 8259 grammar) that refuses text which `JSON.parse` would accept but alter, or be stalled by.
 *
 * Takes time linear in the text, whatever it contains, and keeps no values. Control characters inside strings are left to `JSON.parse`
 * unless `careful` is set, since looking at each character of each string would cost more than all the rest.
 */

import { type Json, parseJson } from '../../schemas/json.ts'
import { type JsonError, type JsonErrorCode, jsonPointer } from './json-error.ts'
import { isDigit, numberFault, SAFE_DIGITS } from './json-number.ts'

export interface ScanLimits {
  readonly maxDepth: number
  readonly maxKeys: number
}

export interface Scan {
  readonly text: string
  readonly limits: ScanLimits
  readonly careful: boolean
  at: number
  depth: number
  keyCount: number
  /** Offset of the next backslash at or after `at`; the text's length if there is none. */
  backslash: number
  /** Keys of the open objects, outermost first; `keysTop` is the length in use. */
  readonly keys: string[]
  keysTop: number
  /** Filled while a refusal unwinds, innermost first, so that a valid text costs nothing for pointers. */
  readonly path: (string | number)[]
  refusal: { readonly code: JsonErrorCode; readonly offset: number; readonly message: string } | undefined
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
const LOWER_U = 0x75

/** Up to this many keys, comparing each key with the previous ones is cheaper than a Set. */
const FEW_KEYS = 16

const ESCAPES = new Set([...'"\\/bfnrt'].map((char) => char.charCodeAt(0)))
const HEX4 = /^[0-9a-fA-F]{4}$/
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what JSON forbids inside a string
const CONTROL = /[\u0000-\u001f]/

export function beginScan(text: string, limits: ScanLimits, careful = false): Scan {
  return {
    text,
    limits,
    careful,
    at: 0,
    depth: 0,
    keyCount: 0,
    backslash: nextBackslash(text, 0),
    keys: [],
    keysTop: 0,
    path: [],
    refusal: undefined,
  }
}

/** The first fault of a text; undefined if there is none. */
export function scanJson(text: string, limits: ScanLimits, careful = false): JsonError | undefined {
  const scan = beginScan(text, limits, careful)
  skipSpace(scan)
  if (scanValue(scan)) {
    skipSpace(scan)
    if (scan.at === text.length) return undefined
    unexpected(scan)
  }
  const { code, offset, message } = scan.refusal ?? { code: 'json-syntax', offset: scan.at, message: 'not JSON' }
  return { code, offset, message, pointer: jsonPointer(scan.path.reverse()) }
}

function scanValue(scan: Scan): boolean {
  const code = scan.text.charCodeAt(scan.at)
  if (code === QUOTE) return scanString(scan)
  if (code === OPEN_OBJECT) return scanObject(scan)
  if (code === OPEN_LIST) return scanList(scan)
  if (code === MINUS || isDigit(code)) return scanNumber(scan)
  return scanWord(scan, 'true') || scanWord(scan, 'false') || scanWord(scan, 'null') || unexpected(scan)
}

/** A number, a boolean or null; undefined if it is not one. */
export function scanScalar(scan: Scan): Json | undefined {
  const { text, at } = scan
  const code = text.charCodeAt(at)
  if (code === MINUS || isDigit(code)) return scanNumber(scan) ? Number(text.slice(at, scan.at)) : undefined
  if (scanWord(scan, 'true')) return true
  if (scanWord(scan, 'false')) return false
  return scanWord(scan, 'null') ? null : void unexpected(scan)
}

function scanWord(scan: Scan, word: string): boolean {
  if (!scan.text.startsWith(word, scan.at)) return false
  scan.at += word.length
  return true
}

function scanList(scan: Scan): boolean {
  if (!enter(scan)) return false
  for (let index = 0; ; index++) {
    if (index === 0 && scan.text.charCodeAt(scan.at) === CLOSE_LIST) break
    if (!scanValue(scan)) return within(scan, index)
    skipSpace(scan)
    const code = scan.text.charCodeAt(scan.at)
    if (code === CLOSE_LIST) break
    if (code !== COMMA) return unexpected(scan)
    scan.at++
    skipSpace(scan)
  }
  return leave(scan)
}

function scanObject(scan: Scan): boolean {
  if (!enter(scan)) return false
  const firstKey = scan.keysTop
  let seen: Set<string> | undefined
  for (let first = true; ; first = false) {
    if (first && scan.text.charCodeAt(scan.at) === CLOSE_OBJECT) break
    const keyAt = scan.at
    const key = scanKey(scan)
    if (key === undefined) return false

    if (seen === undefined && scan.keysTop - firstKey > FEW_KEYS)
      seen = new Set(scan.keys.slice(firstKey, scan.keysTop))
    if (seen === undefined ? hasKey(scan, firstKey, key) : seen.has(key)) return refuseDouble(scan, keyAt, key)
    if (seen === undefined) scan.keys[scan.keysTop++] = key
    else seen.add(key)

    if (!scanValue(scan)) return within(scan, key)
    skipSpace(scan)
    const code = scan.text.charCodeAt(scan.at)
    if (code === CLOSE_OBJECT) break
    if (code !== COMMA) return unexpected(scan)
    scan.at++
    skipSpace(scan)
  }
  scan.keysTop = firstKey
  return leave(scan)
}

/** Reads a key and the colon after it; undefined if it is refused. */
function scanKey(scan: Scan): string | undefined {
  const start = scan.at
  if (scan.text.charCodeAt(start) !== QUOTE) return void unexpected(scan)
  const backslash = scan.backslash
  if (!scanString(scan)) return undefined
  const key = backslash < scan.at ? unescapedKey(scan, start) : scan.text.slice(start + 1, scan.at - 1)
  return key !== undefined && takeKey(scan, start, key) ? key : undefined
}

/** Checks a key that begins at `start` and has been read, and moves behind its colon. Returns false if the key is refused. */
export function takeKey(scan: Scan, start: number, key: string): boolean {
  if (key === '__proto__') {
    refuse(scan, 'json-key', start, 'the key "__proto__" is not allowed')
    return within(scan, key)
  }
  if (++scan.keyCount > scan.limits.maxKeys) {
    return refuse(scan, 'json-too-large', start, `more than ${scan.limits.maxKeys} keys`)
  }
  skipSpace(scan)
  if (scan.text.charCodeAt(scan.at) !== COLON) return unexpected(scan)
  scan.at++
  skipSpace(scan)
  return true
}

export function refuseDouble(scan: Scan, start: number, key: string): boolean {
  refuse(scan, 'json-duplicate-key', start, 'the key is twice in its object')
  return within(scan, key)
}

function hasKey(scan: Scan, from: number, key: string): boolean {
  const keys = scan.keys
  for (let i = from; i < scan.keysTop; i++) if (keys[i] === key) return true
  return false
}

/** The escapes were checked already; only a raw control character can still make `JSON.parse` throw. */
function unescapedKey(scan: Scan, start: number): string | undefined {
  try {
    return parseJson(scan.text.slice(start, scan.at)) as string
  } catch {
    return void refuseControl(scan, start)
  }
}

function scanString(scan: Scan): boolean {
  const start = scan.at
  let quote = scan.text.indexOf('"', start + 1)
  while (quote >= 0 && scan.backslash < quote) {
    const after = scanEscape(scan)
    if (after < 0) return false
    scan.backslash = nextBackslash(scan.text, after)
    // Searched again only if the escape contained the quote; otherwise many escapes before a distant quote would take quadratic time.
    if (quote < after) quote = scan.text.indexOf('"', after)
  }
  if (quote < 0) return refuseEndless(scan, start)
  scan.at = quote + 1
  if (scan.careful && CONTROL.test(scan.text.slice(start, quote))) {
    return refuseControl(scan, start)
  }
  return true
}

export function refuseEndless(scan: Scan, start: number): boolean {
  return refuse(scan, 'json-syntax', start, 'a string does not end')
}

export function refuseControl(scan: Scan, start: number): boolean {
  return refuse(scan, 'json-syntax', start, 'a control character is not escaped in a string')
}

export function nextBackslash(text: string, from: number): number {
  const at = text.indexOf('\\', from)
  return at < 0 ? text.length : at
}

/** The offset after the escape at `scan.backslash`; -1 if it is refused. Decoded UTF-8 holds no lone surrogates; only escapes can produce them. */
export function scanEscape(scan: Scan): number {
  const at = scan.backslash
  const kind = scan.text.charCodeAt(at + 1)
  if (ESCAPES.has(kind)) return at + 2
  const unit = kind === LOWER_U ? codeUnit(scan.text, at) : -1
  if (unit < 0) {
    refuse(scan, 'json-syntax', at, 'an unknown escape')
    return -1
  }
  if (unit < 0xd800 || unit > 0xdfff) return at + 6

  const low = unit < 0xdc00 ? codeUnit(scan.text, at + 6) : -1
  if (low >= 0xdc00 && low <= 0xdfff) return at + 12
  refuse(scan, 'json-surrogate', at, 'half of a surrogate pair is not a character')
  return -1
}

/** The code unit of a `\uXXXX` escape at this offset; -1 if there is none. */
function codeUnit(text: string, at: number): number {
  if (!text.startsWith('\\u', at)) return -1
  const hex = text.slice(at + 2, at + 6)
  return HEX4.test(hex) ? Number.parseInt(hex, 16) : -1
}

function scanNumber(scan: Scan): boolean {
  const { text, at: start } = scan
  const first = text.charCodeAt(start) === MINUS ? start + 1 : start
  let at = first
  while (isDigit(text.charCodeAt(at))) at++
  const leadingZero = text.charCodeAt(first) === ZERO
  if (at === first || (leadingZero && at > first + 1)) return unexpected(scan)

  const code = text.charCodeAt(at)
  const plain = code !== DOT && (code | 0x20) !== 0x65
  if (plain && at - first <= SAFE_DIGITS && (first === start || !leadingZero)) {
    scan.at = at
    return true
  }
  if (!plain) at = scanFraction(text, at)
  if (at < 0) return unexpected(scan)

  const fault = numberFault(text.slice(start, at))
  if (fault !== undefined) return refuse(scan, 'json-number', start, fault)
  scan.at = at
  return true
}

/** The offset after `.digits` and `e±digits`, either of which may be absent; -1 if one has no digits. */
function scanFraction(text: string, from: number): number {
  let at = from
  if (text.charCodeAt(at) === DOT) {
    const digits = ++at
    while (isDigit(text.charCodeAt(at))) at++
    if (at === digits) return -1
  }
  if ((text.charCodeAt(at) | 0x20) !== 0x65) return at
  at++
  if (text[at] === '+' || text[at] === '-') at++
  const digits = at
  while (isDigit(text.charCodeAt(at))) at++
  return at === digits ? -1 : at
}

export function enter(scan: Scan): boolean {
  if (scan.depth === scan.limits.maxDepth) {
    return refuse(scan, 'json-depth', scan.at, `nested deeper than ${scan.limits.maxDepth}`)
  }
  scan.depth++
  scan.at++
  skipSpace(scan)
  return true
}

export function leave(scan: Scan): boolean {
  scan.depth--
  scan.at++
  return true
}

export function skipSpace(scan: Scan): void {
  const { text } = scan
  let code = text.charCodeAt(scan.at)
  while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) code = text.charCodeAt(++scan.at)
}

function within(scan: Scan, token: string | number): boolean {
  scan.path.push(token)
  return false
}

export function unexpected(scan: Scan): boolean {
  const what = scan.at >= scan.text.length ? 'the text ends too early' : 'an unexpected character'
  return refuse(scan, 'json-syntax', scan.at, what)
}

function refuse(scan: Scan, code: JsonErrorCode, offset: number, message: string): boolean {
  scan.refusal ??= { code, offset, message }
  return false
}
