/** @module Hashing of RFC 6962 section 2.1 with SHA-256: leaves, inner nodes, the empty tree. */
import { createHash, hash } from 'node:crypto'

export const HASH_BYTES = 32

const ALGORITHM = 'sha256'
/** RFC 6962 section 2.1: the prefixes prevent a leaf from being presented as an inner node. */
const LEAF_PREFIX = '\u0000'
const NODE_PREFIX = 0x01

/** Input of one node, reused: a new buffer for each would cost as much as the hash. */
const scratch = Buffer.alloc(1 + 2 * HASH_BYTES)
scratch[0] = NODE_PREFIX

/** SHA-256 as 32 bytes; a string is hashed as UTF-8. */
export function sha256(input: string | Uint8Array): Uint8Array {
  return bytesOf(hash(ALGORITHM, input, 'binary'))
}

/** Allocating a native buffer for each hash takes three times as long as the hash, and its collection takes longer still. */
function bytesOf(text: string): Uint8Array {
  const bytes = new Uint8Array(HASH_BYTES)
  for (let at = 0; at < HASH_BYTES; at += 1) bytes[at] = text.charCodeAt(at)
  return bytes
}

/** Hash of a leaf; a string is hashed as UTF-8. */
export function leafHash(entry: string | Uint8Array): Uint8Array {
  if (typeof entry === 'string') return sha256(LEAF_PREFIX + entry)
  return bytesOf(createHash(ALGORITHM).update(LEAF_PREFIX).update(entry).digest('binary'))
}

/** Hash of an inner node. Both sides must have 32 bytes: the callers check the length of external input. */
export function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  scratch.set(left, 1)
  scratch.set(right, 1 + HASH_BYTES)
  return sha256(scratch)
}

/** Root of the empty tree: the hash of the empty string. */
export function emptyRoot(): Uint8Array {
  return sha256('')
}

export function sameHash(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === HASH_BYTES && b.length === HASH_BYTES && Buffer.compare(a, b) === 0
}
