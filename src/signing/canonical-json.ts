/**
 * @module The JSON Canonicalization Scheme (RFC 8785), whose one text per value is hashed and signed, and caches of the texts of values
 * that are written more than once.
 */

import { isJsonObject, type Json, type JsonObject, parseJson } from '../../schemas/json.ts'
import type { Plain } from '../../schemas/plain.ts'

/** Deeper values are refused before they overflow the stack; input is limited to 64 levels when it is received. */
export const CANONICAL_MAX_DEPTH = 512

/** Characters that RFC 8785 section 3.2.2.2 escapes, and surrogates, because a lone surrogate must be refused. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what JSON escapes
const NOT_PLAIN = /["\\\u0000-\u001f\ud800-\udfff]/

/**
 * Throws `TypeError` on values that I-JSON cannot hold: numbers that are not finite, lone surrogates, `undefined`, bigint, functions,
 * symbols, nesting beyond `CANONICAL_MAX_DEPTH`. `toJSON` is never called. -0 is written `0` (RFC 8785 appendix B).
 */
export function canonicalJson(value: Json): string {
  return write(value, 0)
}

/** The canonical text of an object whose members are written by `textOf`, which may return cached texts. */
function canonicalObject(value: JsonObject, textOf: (member: Json) => string): string {
  const keys = sortKeys(Object.keys(value))
  const first = keys[0]
  if (first === undefined) return '{}'
  // Appended piece by piece: a template literal would first check that each piece is a string.
  let text = '{'
  text += keyText(first)
  text += textOf(value[first] as Json)
  for (let i = 1; i < keys.length; i++) {
    const key = keys[i] as string
    text += ','
    text += keyText(key)
    text += textOf(value[key] as Json)
  }
  text += '}'
  return text
}

/** The same value with its members in canonical order, so that an answer rebuilt from the record is identical byte for byte. */
export function inCanonicalOrder<T extends Json | object>(value: T): Plain<T> {
  return parseJson(canonicalJson(value as Json)) as Plain<T>
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

/** RFC 8785 section 3.2.2.3 prescribes ECMAScript's own number text. */
function writeNumber(value: number): string {
  if (!Number.isFinite(value)) throw new TypeError('canonical JSON: a number is not finite')
  return `${value}`
}

function writeList(list: readonly unknown[], depth: number): string {
  if (list.length === 0) return '[]'
  let text = '['
  text += write(list[0], depth)
  for (let i = 1; i < list.length; i++) {
    text += ','
    text += write(list[i], depth)
  }
  text += ']'
  return text
}

function writeObject(value: Record<string, unknown>, depth: number): string {
  const keys = sortKeys(Object.keys(value))
  const first = keys[0]
  if (first === undefined) return '{}'
  let text = '{'
  text += keyText(first)
  text += write(value[first], depth)
  for (let i = 1; i < keys.length; i++) {
    const key = keys[i] as string
    text += ','
    text += keyText(key)
    text += write(value[key], depth)
  }
  text += '}'
  return text
}

/** Cache of key texts, because keys repeat from value to value; it saves a third of the time of a small envelope. Bounded in entries and key length. */
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

/** Longer lists of keys are sorted by the engine. */
const INSERTION_MAX_KEYS = 24

/** Sorts by UTF-16 code units (RFC 8785 section 3.2.3), in place. Insertion sort is faster on short lists, and most are short or already sorted. */
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

/** `JSON.stringify` writes the escapes exactly as RFC 8785 requires, but it also writes lone surrogates, which are refused here. */
function quote(text: string): string {
  if (!NOT_PLAIN.test(text)) return `"${text}"`
  if (!text.isWellFormed()) throw new TypeError('canonical JSON: half of a surrogate pair')
  return JSON.stringify(text)
}

/** Limit on the members' texts of one value, in characters; longer ones are not cached. */
const MEMBER_TEXTS_MAX_CHARS = 64 * 1024
/** Memory of a map entry and of the header of its text, in bytes. */
const MEMBER_BYTES = 96

/** The canonical texts of an object's member lists and objects: a following object that contains the same members need not write them again. */
export class MemberTexts {
  of: JsonObject = {}
  readonly #texts = new Map<object, string>()
  #chars = 0

  /** Memory used by the texts, in bytes. */
  get bytes(): number {
    return 2 * this.#chars + MEMBER_BYTES * this.#texts.size
  }

  get isTooLong(): boolean {
    return this.#chars > MEMBER_TEXTS_MAX_CHARS
  }

  get(member: object): string | undefined {
    return this.#texts.get(member)
  }

  add(member: object, text: string): void {
    if (this.#texts.has(member)) return
    // Reading a character flattens a concatenated string, which would otherwise keep all of its pieces alive.
    text.charCodeAt(0)
    this.#texts.set(member, text)
    this.#chars += text.length
  }

  forget(member: Json): void {
    if (typeof member !== 'object' || member === null) return
    const text = this.#texts.get(member)
    if (text === undefined) return
    this.#texts.delete(member)
    this.#chars -= text.length
  }
}

/** Canonical texts cached by value: a payload is written once for its size, its digest, the mark of its request and the body of its event. */
export class CanonicalTexts {
  readonly #known: MemberTexts | undefined
  /** Texts of objects, which must not be changed while this cache is in use. */
  readonly #texts = new Map<object, string>()
  #same: readonly [value: JsonObject, other: JsonObject] | undefined

  /** `known`: cached texts of members of values to come. */
  constructor(known?: MemberTexts) {
    this.#known = known
  }

  /** Declares two values to be equal, so that one text serves both. Only the last pair is remembered. */
  areOne(value: JsonObject, other: JsonObject): void {
    this.#same = [value, other]
  }

  readonly sizeOf = (value: Json): number => Buffer.byteLength(this.textOf(value))

  /** The canonical text of the body of an event or a request, whose members may have cached texts. */
  bodyText(body: JsonObject): string {
    return canonicalObject(body, this.#valueText)
  }

  readonly #valueText = (member: Json): string => (isJsonObject(member) ? this.textOf(member) : canonicalJson(member))

  /** The canonical text of a value, from the cache if possible. */
  textOf(value: Json): string {
    if (typeof value !== 'object' || value === null) return canonicalJson(value)
    const one = this.#same?.[0] === value ? this.#same[1] : value
    const known = this.#texts.get(one)
    if (known !== undefined) return known
    const text = isJsonObject(one) ? canonicalObject(one, this.#memberText) : canonicalJson(one)
    this.#texts.set(one, text)
    return text
  }

  readonly #memberText = (member: Json): string => {
    if (typeof member !== 'object' || member === null) return canonicalJson(member)
    const known = this.#textKnown(member)
    if (known !== undefined) return known
    const text = canonicalJson(member)
    this.#texts.set(member, text)
    return text
  }

  #textKnown(member: object): string | undefined {
    return this.#known?.get(member) ?? this.#texts.get(member)
  }

  /**
   * Texts of the members of a value that was written here; undefined if they are too long to be cached. `members`, which belong to the
   * previous value, are updated in place where the two values differ.
   */
  membersOf(value: JsonObject, members = new MemberTexts()): MemberTexts | undefined {
    const before = members.of
    members.of = value
    for (const key of Object.keys(before)) if (value[key] !== before[key]) members.forget(before[key] as Json)
    for (const key of Object.keys(value)) {
      const member = value[key] as Json
      if (member === before[key] || typeof member !== 'object' || member === null) continue
      const text = this.#textKnown(member)
      if (text !== undefined) members.add(member, text)
    }
    return members.isTooLong ? undefined : members
  }
}
