/** @module Every digest of the record: SHA-256, as `sha256:<hex>` in JSON and as 32 bytes in the Merkle log. */
import { createHash, hash } from 'node:crypto'
import type { Json } from '../../schemas/json.ts'
import { type CanonicalTexts, canonicalJson } from './canonical-json.ts'

const ALGORITHM = 'sha256'
const PREFIX = 'sha256:'

/** RFC 6962 section 2.1: the prefix keeps a leaf from being passed off as an inner node. */
const LEAF_PREFIX = '\u0000'

/** Bodies up to this size are hashed beside their salt in one buffer that is reused: one call, no copy made for it. */
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

/** The same of values whose texts may have been written already. */
export function digestsBy(texts: CanonicalTexts): (value: Json | object) => string {
  return (value) => textDigest(texts.textOf(value as Json))
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
