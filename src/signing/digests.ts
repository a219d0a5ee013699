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

/** Canonical texts by the values that they are of: a payload is written once, for its size, its digest, the mark of its request and the body of its event. */
export class CanonicalTexts {
  /** Of objects that nobody changes as long as this is used. */
  readonly #texts = new Map<object, string>()
  readonly #same = new Map<object, JsonObject>()

  /** The values are equal: one text serves both. */
  areOne(value: JsonObject, other: JsonObject): void {
    this.#same.set(value, other)
  }

  readonly digestOf = (value: Json | object): string => textDigest(this.textOf(value as Json))

  readonly sizeOf = (value: Json): number => Buffer.byteLength(this.textOf(value))

  /** The canonical text of an event's or a request's body, in which values stand whose text is known. */
  bodyText(body: JsonObject): string {
    const texts = Object.entries(body).map(([key, member]) => {
      return [key, isJsonObject(member) ? this.textOf(member) : canonicalJson(member)] as const
    })
    return canonicalObject(Object.fromEntries(texts))
  }

  /** The canonical text. */
  textOf(value: Json): string {
    if (typeof value !== 'object' || value === null) return canonicalJson(value)
    const one = this.#same.get(value) ?? value
    const known = this.#texts.get(one)
    if (known !== undefined) return known
    const text = canonicalJson(one)
    this.#texts.set(one, text)
    return text
  }
}
