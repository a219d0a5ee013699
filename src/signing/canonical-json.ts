/** @module The JSON Canonicalization Scheme (RFC 8785): one text for one value, the bytes that are hashed and signed. */
import type { Json, JsonObject } from '../../schemas/json.ts'
import { isWellFormed } from './well-formed.ts'

/** Deeper values are refused before they reach the end of the stack; input is held to 64 at the edge. */
export const CANONICAL_MAX_DEPTH = 512

/** What RFC 8785 section 3.2.2.2 escapes, and surrogates, of which half a pair must not pass. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what JSON escapes
const NOT_PLAIN = /["\\\u0000-\u001f\ud800-\udfff]/

/**
 * Throws `TypeError` on what I-JSON cannot hold: numbers that are not finite, half of a surrogate pair, `undefined`, bigint,
 * functions, symbols, nesting beyond `CANONICAL_MAX_DEPTH`. `toJSON` is never called. -0 is written `0` (RFC 8785 appendix B).
 */
export function canonicalJson(value: Json): string {
  return write(value, 0)
}

/** The canonical text of an object whose members are written by `textOf`, which may know their texts already. */
export function canonicalObject(value: JsonObject, textOf: (member: Json) => string): string {
  const keys = sortKeys(Object.keys(value))
  let text = '{'
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] as string
    text += `${i === 0 ? '' : ','}${keyText(key)}${textOf(value[key] as Json)}`
  }
  return `${text}}`
}

/** The same value with its members in canonical order: an answer that is made again from the record is the same to the byte. */
export function inCanonicalOrder(value: Json | object): Json {
  return JSON.parse(canonicalJson(value as Json)) as Json
}

function write(value: unknown, depth: number): string {
  if (typeof value === 'string') return quote(value)
  if (typeof value === 'number') return writeNumber(value)
  if (typeof value === 'object') {
    if (value === null) return 'null'
    if (depth === CANONICAL_MAX_DEPTH) throw new TypeError(`canonical JSON: nested deeper than ${CANONICAL_MAX_DEPTH}`)
    return Array.isArray(value) ? writeList(value, depth + 1) : writeObject(value as Record<string, unknown>, depth + 1)
  }
  if (value === true) return 'true'
  if (value === false) return 'false'
  throw new TypeError(`canonical JSON: ${typeof value} has no JSON form`)
}

/** ECMAScript's own number text is what RFC 8785 section 3.2.2.3 prescribes. */
function writeNumber(value: number): string {
  if (!Number.isFinite(value)) throw new TypeError('canonical JSON: a number is not finite')
  return `${value}`
}

function writeList(list: readonly unknown[], depth: number): string {
  if (list.length === 0) return '[]'
  let text = `[${write(list[0], depth)}`
  for (let i = 1; i < list.length; i++) text += `,${write(list[i], depth)}`
  return `${text}]`
}

function writeObject(value: Record<string, unknown>, depth: number): string {
  const keys = sortKeys(Object.keys(value))
  const first = keys[0]
  if (first === undefined) return '{}'
  let text = `{${keyText(first)}${write(value[first], depth)}`
  for (let i = 1; i < keys.length; i++) {
    const key = keys[i] as string
    text += `,${keyText(key)}${write(value[key], depth)}`
  }
  return `${text}}`
}

/** Keys repeat from value to value, so their texts are kept: a third of the time of a small envelope. Bounded in both directions. */
const KEY_TEXTS_MAX = 2048
const KEPT_KEY_MAX_CHARS = 64
const keyTexts = new Map<string, string>()

/** A key, quoted, and the colon after it. */
function keyText(key: string): string {
  const shown = keyTexts.get(key)
  if (shown !== undefined) return shown
  const text = `${quote(key)}:`
  if (key.length > KEPT_KEY_MAX_CHARS) return text
  if (keyTexts.size === KEY_TEXTS_MAX) keyTexts.clear()
  keyTexts.set(key, text)
  return text
}

/** Longer lists of keys go to the engine's sort. */
const INSERTION_MAX_KEYS = 24

/** By UTF-16 code units (RFC 8785 section 3.2.3), in place. Insertion wins on short lists, and most are short or sorted already. */
function sortKeys(keys: string[]): string[] {
  if (keys.length > INSERTION_MAX_KEYS) return keys.sort()
  for (let i = 1; i < keys.length; i++) {
    const key = keys[i] as string
    let at = i - 1
    while (at >= 0 && (keys[at] as string) > key) {
      keys[at + 1] = keys[at] as string
      at--
    }
    keys[at + 1] = key
  }
  return keys
}

/** `JSON.stringify` writes the escapes exactly as RFC 8785 wants them, but also half a surrogate pair. */
function quote(text: string): string {
  if (!NOT_PLAIN.test(text)) return `"${text}"`
  if (!isWellFormed(text)) throw new TypeError('canonical JSON: half of a surrogate pair')
  return JSON.stringify(text)
}
