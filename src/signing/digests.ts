/** @module Every digest of the record: SHA-256, as `sha256:<hex>` in JSON and as 32 bytes in the Merkle log; and the canonical texts of values that are digested more than once. */
import { createHash, hash } from 'node:crypto'
import { isJsonObject, type Json, type JsonObject } from '../../schemas/json.ts'
import { canonicalJson, canonicalObject } from './canonical-json.ts'

const ALGORITHM = 'sha256'
const PREFIX = 'sha256:'

/** RFC 6962 section 2.1: the prefix keeps a leaf from being passed off as an inner node. */
const LEAF_PREFIX = '\u0000'

/** Bodies up to this size are hashed beside their salt in one buffer that is kept: one call, no copy made for it. */
const SCRATCH_BYTES = 64 * 1024
const scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES)

/** 64 lowercase hex digits; a text is hashed as UTF-8. */
export function sha256Hex(data: string | Uint8Array): string {
  return hash(ALGORITHM, data, 'hex')
}

export function sha256(data: string | Uint8Array): Uint8Array {
  return hash(ALGORITHM, data, 'buffer')
}

/** The text of a 32-byte hash. */
export function digestText(bytes: Uint8Array): string {
  return PREFIX + Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')
}

/** SHA-256 over the value's canonical bytes. */
export function jsonDigest(value: Json): string {
  return textDigest(canonicalJson(value))
}

/** SHA-256 over a text's UTF-8 bytes. */
export function textDigest(text: string): string {
  return PREFIX + hash(ALGORITHM, text, 'hex')
}

/** Digest of an event: the leaf hash of its header text, mac included. It is the next event's `prev` and the leaf of the log. */
export function recordDigest(headerText: string): string {
  return PREFIX + hash(ALGORITHM, LEAF_PREFIX + headerText, 'hex')
}

/** `dataDigest` of a header: over the salt, then the canonical text of the body. */
export function dataDigest(salt: Uint8Array, data: string): string {
  // A UTF-16 unit takes at most three bytes of UTF-8.
  if (salt.length + data.length * 3 > SCRATCH_BYTES) {
    return PREFIX + createHash(ALGORITHM).update(salt).update(data).digest('hex')
  }
  scratch.set(salt, 0)
  const end = salt.length + scratch.write(data, salt.length)
  return PREFIX + hash(ALGORITHM, scratch.subarray(0, end), 'hex')
}

/** Longer texts of a value's members are not remembered. */
const MEMBER_TEXTS_MAX_CHARS = 64 * 1024
/** A member's place in the map, and its text's header. */
const MEMBER_BYTES = 96

/** The canonical texts of an object's lists and objects: where they stand in the next one as well, they need no writing again. */
export interface MemberTexts {
  readonly texts: ReadonlyMap<object, string>
  /** What they take in memory. */
  readonly bytes: number
}

/** Canonical texts by the values that they are of: a payload is written once, for its size, its digest, the mark of its request and the body of its event. */
export class CanonicalTexts {
  readonly #known: MemberTexts['texts'] | undefined
  /** Of objects that nobody changes as long as this is used. */
  readonly #texts = new Map<object, string>()
  #same: readonly [value: JsonObject, other: JsonObject] | undefined

  /** `known`: of members of values that may come. */
  constructor(known?: MemberTexts) {
    this.#known = known?.texts
  }

  /** The values are equal: one text serves both. Remembered of the last two that were said to be. */
  areOne(value: JsonObject, other: JsonObject): void {
    this.#same = [value, other]
  }

  readonly digestOf = (value: Json | object): string => textDigest(this.textOf(value as Json))

  readonly sizeOf = (value: Json): number => Buffer.byteLength(this.textOf(value))

  /** The canonical text of an event's or a request's body, in which values stand whose text is known. */
  bodyText(body: JsonObject): string {
    return canonicalObject(body, this.#valueText)
  }

  readonly #valueText = (member: Json): string => (isJsonObject(member) ? this.textOf(member) : canonicalJson(member))

  /** The canonical text. */
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

  /** Of the members of a value that was written here; undefined where they are too long to be remembered. */
  membersOf(value: JsonObject): MemberTexts | undefined {
    const texts = new Map<object, string>()
    let chars = 0
    for (const key of Object.keys(value)) {
      const member = value[key]
      if (typeof member !== 'object' || member === null) continue
      const text = this.#textKnown(member)
      if (text === undefined) continue
      chars += text.length
      if (chars > MEMBER_TEXTS_MAX_CHARS) return undefined
      // A text that was put together holds on to all of its pieces until a character of it is read.
      text.charCodeAt(0)
      texts.set(member, text)
    }
    return { texts, bytes: 2 * chars + MEMBER_BYTES * texts.size }
  }
}
