/**
 * @module Every digest of the record: SHA-256, as `sha256:<hex>` in JSON and as 32 bytes in the Merkle log; and the MACs of short texts:
 * HMAC-SHA-256 (RFC 2104) under keys that are used many times.
 */
import { createHash, createHmac, hash, type KeyObject } from 'node:crypto'
import type { Json } from '../../schemas/json.ts'
import { type CanonicalTexts, canonicalJson } from './canonical-json.ts'

const ALGORITHM = 'sha256'
const PREFIX = 'sha256:'

/** RFC 6962 section 2.1: the prefix keeps a leaf from being passed off as an inner node. */
const LEAF_PREFIX = 0

/** Texts up to this size are hashed together with their salt, or with the pad of their key, in one reused buffer: one call and no copy. */
const SCRATCH_BYTES = 64 * 1024
const scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES)

/** 64 lowercase hex digits; a text is hashed as UTF-8. */
export function sha256Hex(data: string | Uint8Array): string {
  return hash(ALGORITHM, data, 'hex')
}

export function sha256(data: string | Uint8Array): Uint8Array {
  return hash(ALGORITHM, data, 'buffer')
}

/** The text form of a 32-byte hash. */
export function digestText(bytes: Uint8Array): string {
  return PREFIX + Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')
}

/** The 32 bytes of a text made by `digestText`. */
export function digestBytes(text: string): Uint8Array {
  return Buffer.from(text.slice(PREFIX.length), 'hex')
}

/** SHA-256 over the value's canonical bytes. */
export function jsonDigest(value: Json): string {
  return textDigest(canonicalJson(value))
}

/** As `jsonDigest`, with a cache of canonical texts. */
export function digestsBy(texts: CanonicalTexts): (value: Json | object) => string {
  return (value) => textDigest(texts.textOf(value as Json))
}

/** SHA-256 over a text's UTF-8 bytes. */
export function textDigest(text: string): string {
  return PREFIX + hash(ALGORITHM, text, 'hex')
}

/** SHA-256 over bytes. */
export function bytesDigest(bytes: Uint8Array): string {
  return PREFIX + hash(ALGORITHM, bytes, 'hex')
}

/** Digest of an event: the leaf hash of its header text, including the MAC. It is the next event's `prev` and the leaf of the log. */
export function recordDigest(headerText: string): string {
  if (headerText.length * 3 >= SCRATCH_BYTES)
    return PREFIX + createHash(ALGORITHM).update(Buffer.of(LEAF_PREFIX)).update(headerText).digest('hex')
  // Written into a buffer instead of concatenated: this also flattens a header text made of pieces, which is sent and stored afterwards.
  scratch[0] = LEAF_PREFIX
  return PREFIX + hash(ALGORITHM, scratch.subarray(0, 1 + scratch.write(headerText, 1)), 'hex')
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

/** A run key: 32 bytes, preferably as a `KeyObject`, which no log prints. */
export type MacKey = KeyObject | Uint8Array

const BLOCK_BYTES = 64
const HASH_BYTES = 32
const INNER_PAD = 0x36
const OUTER_PAD = 0x5c

interface Padded {
  readonly inner: Uint8Array
  /** The outer pad, followed by room for the inner hash. */
  readonly outer: Buffer
}

/** Pads of key objects only: these are immutable, and a pad is freed together with the cache that holds its key. */
const padded = new WeakMap<KeyObject, Padded>()

/**
 * The MAC over a text's UTF-8 bytes, base64url, as two one-shot hashes: `createHmac` creates an object for each MAC, which doubles the
 * cost. A text may be passed in pieces, none of which may end within a surrogate pair, so that they need not be concatenated.
 */
export function textMac(text: string, key: MacKey, second = '', third = ''): string {
  return macOf([text, second, third], key, 'base64url')
}

/** As `textMac`, in lowercase hexadecimal digits. */
export function textMacHex(text: string, key: MacKey, second = ''): string {
  return macOf([text, second, ''], key, 'hex')
}

type Pieces = readonly [string, string, string]

function macOf([text, second, third]: Pieces, key: MacKey, encoding: 'base64url' | 'hex'): string {
  const chars = text.length + second.length + third.length
  // A UTF-16 unit takes at most three bytes of UTF-8.
  if (key instanceof Uint8Array || BLOCK_BYTES + chars * 3 > SCRATCH_BYTES)
    return createHmac(ALGORITHM, key)
      .update(text + second + third)
      .digest(encoding)

  const { inner, outer } = paddedKey(key)
  scratch.set(inner)
  let end = BLOCK_BYTES + scratch.write(text, BLOCK_BYTES)
  if (second !== '') end += scratch.write(second, end)
  if (third !== '') end += scratch.write(third, end)
  outer.write(hash(ALGORITHM, scratch.subarray(0, end), 'binary'), BLOCK_BYTES, 'latin1')
  return hash(ALGORITHM, outer, encoding)
}

function paddedKey(key: KeyObject): Padded {
  const known = padded.get(key)
  if (known !== undefined) return known
  const bytes = blockOf(key.export())
  const outer = Buffer.alloc(BLOCK_BYTES + HASH_BYTES)
  outer.set(bytes.map((byte) => byte ^ OUTER_PAD))
  const made = { inner: bytes.map((byte) => byte ^ INNER_PAD), outer }
  padded.set(key, made)
  return made
}

/** The key padded with zeros to a block; a key longer than a block is hashed first. */
function blockOf(secret: Buffer): Uint8Array {
  const block = new Uint8Array(BLOCK_BYTES)
  block.set(secret.length > BLOCK_BYTES ? hash(ALGORITHM, secret, 'buffer') : secret)
  return block
}
