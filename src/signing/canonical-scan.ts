/**
 * @module Tests in one pass over the bytes whether a text is its own canonical form (RFC 8785); parsing the text and writing it again would
 * take six times as long. Each scanner takes the offset where its part begins and returns the offset after it, or `NOT`.
 */
import { parseJson } from '../../schemas/json.ts'
import { isDigit } from './json-number.ts'

const QUOTE = 0x22
const COMMA = 0x2c
const PLUS = 0x2b
const MINUS = 0x2d
const DOT = 0x2e
const ZERO = 0x30
const COLON = 0x3a
const OPEN_LIST = 0x5b
const BACKSLASH = 0x5c
const CLOSE_LIST = 0x5d
const LOWER_E = 0x65
const LOWER_U = 0x75
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

const NOT = -1
/** ECMAScript writes integers of up to this many digits unchanged. */
const PLAIN_DIGITS = 15
/** Upper bound for the length of ECMAScript's text of a number. */
const NUMBER_MAX_CHARS = 32

/** Bytes that a string contains unescaped: all except controls, quotes and backslashes. */
const PLAIN = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number(byte >= 0x20 && byte !== QUOTE && byte !== BACKSLASH),
)
/** The plain bytes whose order equals that of UTF-16 code units. */
const PLAIN_ASCII = PLAIN.map((plain, byte) => (byte < 0x80 ? plain : 0))

/** RFC 8785 section 3.2.2.2: short escapes where they exist, otherwise lowercase hex, and for control characters only. */
const SHORT_ESCAPE = '"\\bfnrt'
const LONG_ESCAPE = /^u00(?:0[0-7be-f]|1[0-9a-f])$/
const LONG_ESCAPE_CHARS = 5
const WORDS = ['true', 'false', 'null'].map((word) => Buffer.from(word))

const SCRATCH_BYTES = 64 * 1024
const scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES)

/** True if the text is canonical, nests no deeper than `maxDepth`, and has no key `__proto__`. Never throws. */
export function isCanonicalJson(text: string, maxDepth: number): boolean {
  // A lone surrogate has no UTF-8 encoding.
  if (!text.isWellFormed()) return false
  // A UTF-16 unit takes at most three bytes of UTF-8.
  const bytes = text.length * 3 < SCRATCH_BYTES ? scratch : Buffer.allocUnsafeSlow(Buffer.byteLength(text) + 1)
  const end = bytes.write(text)
  // A terminating control character, at which every scanner stops.
  bytes[end] = 0
  return valueEnd(bytes, 0, maxDepth) === end
}

/** `isCanonicalJson` for UTF-8 bytes from `start` to `end`; a zero byte must follow them. */
export function isCanonicalUtf8(bytes: Buffer, start: number, end: number, maxDepth: number): boolean {
  return valueEnd(bytes, start, maxDepth) === end
}

/**
 * As `isCanonicalUtf8`, for an object. Returns three offsets for each of its own members: of the quote before its name, of its colon, and
 * after its value. Returns undefined if the text is not an object or not canonical.
 */
export function canonicalMembers(
  bytes: Buffer,
  start: number,
  end: number,
  maxDepth: number,
): readonly number[] | undefined {
  const places: number[] = []
  const isObject = bytes[start] === OPEN_OBJECT && maxDepth > 0
  return isObject && objectEnd(bytes, start + 1, maxDepth - 1, places) === end ? places : undefined
}

/** Returns the offset after the value. `room`: how many levels deeper the value may nest. */
function valueEnd(bytes: Buffer, at: number, room: number): number {
  const code = bytes[at] as number
  if (code === QUOTE) return stringEnd(bytes, at + 1)
  if (code === OPEN_OBJECT) return room === 0 ? NOT : objectEnd(bytes, at + 1, room - 1)
  if (code === OPEN_LIST) return room === 0 ? NOT : listEnd(bytes, at + 1, room - 1)
  if (code === MINUS || isDigit(code)) return numberEnd(bytes, at)
  return wordEnd(bytes, at)
}

function wordEnd(bytes: Buffer, at: number): number {
  const word = WORDS.find((each) => bytes[at] === each[0])
  return word?.every((byte, i) => bytes[at + i] === byte) === true ? at + word.length : NOT
}

function listEnd(bytes: Buffer, start: number, room: number): number {
  if (bytes[start] === CLOSE_LIST) return start + 1
  for (let at = start; ; at += 1) {
    at = valueEnd(bytes, at, room)
    if (at === NOT) return NOT
    if (bytes[at] === CLOSE_LIST) return at + 1
    if (bytes[at] !== COMMA) return NOT
  }
}

/** Strictly ascending keys are in order and unique. `places` receives the offsets of the members. */
function objectEnd(bytes: Buffer, start: number, room: number, places?: number[]): number {
  if (bytes[start] === CLOSE_OBJECT) return start + 1
  // Offsets of the previous key, including its quotes.
  let before = NOT
  let beforeEnd = NOT
  for (let key = start; ; ) {
    const keyEnd = bytes[key] === QUOTE ? stringEnd(bytes, key + 1) : NOT
    if (keyEnd === NOT || bytes[keyEnd] !== COLON || isProto(bytes, key, keyEnd)) return NOT
    if (before !== NOT && !rises(bytes, before, beforeEnd, key, keyEnd)) return NOT
    const at = valueEnd(bytes, keyEnd + 1, room)
    if (at === NOT) return NOT
    if (places !== undefined) places.push(key, keyEnd, at)
    if (bytes[at] === CLOSE_OBJECT) return at + 1
    if (bytes[at] !== COMMA) return NOT
    before = key
    beforeEnd = keyEnd
    key = at + 1
  }
}

const PROTO = Buffer.from('"__proto__"')

function isProto(bytes: Buffer, key: number, keyEnd: number): boolean {
  return (
    keyEnd - key === PROTO.length &&
    bytes[key + 1] === PROTO[1] &&
    bytes.compare(PROTO, 0, PROTO.length, key, keyEnd) === 0
  )
}

/** Whether the second key comes after the first by UTF-16 code units (RFC 8785 section 3.2.3). */
function rises(bytes: Buffer, first: number, firstEnd: number, second: number, secondEnd: number): boolean {
  for (let i = 1; ; i += 1) {
    const [a, b] = [bytes[first + i] as number, bytes[second + i] as number]
    if (PLAIN_ASCII[a] === 0 || PLAIN_ASCII[b] === 0) {
      // A closing quote ends the shorter key; escapes and non-ASCII letters are compared in decoded form.
      if (first + i === firstEnd - 1 && PLAIN_ASCII[b] === 1) return true
      if (second + i === secondEnd - 1 && PLAIN_ASCII[a] === 1) return false
      return keyText(bytes, first, firstEnd) < keyText(bytes, second, secondEnd)
    }
    if (a !== b) return a < b
  }
}

function keyText(bytes: Buffer, key: number, keyEnd: number): string {
  return parseJson(bytes.toString('utf8', key, keyEnd)) as string
}

/** Scans from after the opening quote. */
function stringEnd(bytes: Buffer, start: number): number {
  let at = start
  for (;;) {
    while (PLAIN[bytes[at] as number] === 1) at += 1
    if (bytes[at] === QUOTE) return at + 1
    if (bytes[at] !== BACKSLASH) return NOT
    at = escapeEnd(bytes, at + 1)
    if (at === NOT) return NOT
  }
}

/** Scans from after the backslash. */
function escapeEnd(bytes: Buffer, at: number): number {
  const code = bytes[at] as number
  if (code !== LOWER_U) return code !== 0 && SHORT_ESCAPE.includes(String.fromCharCode(code)) ? at + 1 : NOT
  const end = at + LONG_ESCAPE_CHARS
  return LONG_ESCAPE.test(bytes.toString('latin1', at, end)) ? end : NOT
}

function numberEnd(bytes: Buffer, start: number): number {
  const first = bytes[start] === MINUS ? start + 1 : start
  let at = first
  while (isDigit(bytes[at] as number)) at += 1
  const code = bytes[at]
  if (at > first && at - first <= PLAIN_DIGITS && code !== DOT && code !== LOWER_E)
    return bytes[first] !== ZERO || (at === first + 1 && first === start) ? at : NOT

  while (isNumberPart(bytes[at] as number) && at - start <= NUMBER_MAX_CHARS) at += 1
  const token = bytes.toString('latin1', start, at)
  const value = Number(token)
  return Number.isFinite(value) && `${value}` === token ? at : NOT
}

function isNumberPart(code: number): boolean {
  return isDigit(code) || code === DOT || code === LOWER_E || code === MINUS || code === PLUS
}
