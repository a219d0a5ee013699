/**
 * @module HMAC-SHA-256 (RFC 2104) of short texts under keys that are used many times: two hashes in one call each, over padded keys that are
 * made once. `createHmac` makes an object for each mac, which costs as much again as the hashing.
 */
import { createHmac, hash, type KeyObject } from 'node:crypto'

/** A run key: 32 bytes, best as a `KeyObject`, which no log prints. */
export type MacKey = KeyObject | Uint8Array

const ALGORITHM = 'sha256'
const BLOCK_BYTES = 64
const HASH_BYTES = 32
const INNER_PAD = 0x36
const OUTER_PAD = 0x5c

interface Padded {
  readonly inner: Uint8Array
  /** The outer pad, and room for the inner hash. */
  readonly outer: Buffer
}

/** Of key objects alone: nothing can change them, and they go with the cache that holds them. */
const padded = new WeakMap<KeyObject, Padded>()

const SCRATCH_BYTES = 32 * 1024
const scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES)

/** The mac over a text's UTF-8 bytes, base64url. */
export function textMac(text: string, key: MacKey): string {
  // A UTF-16 unit takes at most three bytes of UTF-8.
  if (key instanceof Uint8Array || BLOCK_BYTES + text.length * 3 > SCRATCH_BYTES)
    return createHmac(ALGORITHM, key).update(text).digest('base64url')

  const { inner, outer } = paddedKey(key)
  scratch.set(inner)
  const end = BLOCK_BYTES + scratch.write(text, BLOCK_BYTES)
  outer.write(hash(ALGORITHM, scratch.subarray(0, end), 'binary'), BLOCK_BYTES, 'latin1')
  return hash(ALGORITHM, outer, 'base64url')
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

/** The key filled up with zeros; one that is longer than a block is hashed first. */
function blockOf(secret: Buffer): Uint8Array {
  const block = new Uint8Array(BLOCK_BYTES)
  block.set(secret.length > BLOCK_BYTES ? hash(ALGORITHM, secret, 'buffer') : secret)
  return block
}
