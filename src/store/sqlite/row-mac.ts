/**
 * @module The mac of a row as a number: HMAC-SHA-256 under one key, made of two hashes in one call each. `createHmac` makes an object for each
 * mac, which costs as much again as the hashing, and an index of a million events takes more than a million of them.
 */
import { createHmac, hash } from 'node:crypto'

const ALGORITHM = 'sha256'
const BLOCK_BYTES = 64
const HASH_BYTES = 32
const INNER_PAD = 0x36
const OUTER_PAD = 0x5c
/** Rows of the largest texts that a name or a list can have go another way. */
const SCRATCH_BYTES = 64 * 1024
/** A UTF-16 unit takes at most three bytes of UTF-8. */
const UNIT_BYTES = 3

export class RowMac {
  readonly #key: Uint8Array
  readonly #inner: Buffer
  readonly #outer = Buffer.alloc(BLOCK_BYTES + HASH_BYTES)

  constructor(key: Uint8Array) {
    this.#key = key
    const block = Buffer.alloc(BLOCK_BYTES)
    block.set(key.length > BLOCK_BYTES ? hash(ALGORITHM, key, 'buffer') : key)
    this.#inner = Buffer.alloc(SCRATCH_BYTES)
    this.#inner.set(block.map((byte) => byte ^ INNER_PAD))
    this.#outer.set(block.map((byte) => byte ^ OUTER_PAD))
  }

  /** Over the UTF-8 bytes of both texts, one behind the other; `head` is short and ends no surrogate pair's half. */
  of(head: string, text: string): bigint {
    return BigInt(`0x${this.#hex(head, text)}`)
  }

  #hex(head: string, text: string): string {
    if (BLOCK_BYTES + (head.length + text.length) * UNIT_BYTES > SCRATCH_BYTES)
      return createHmac(ALGORITHM, this.#key).update(head).update(text).digest('hex')
    const from = BLOCK_BYTES + this.#inner.write(head, BLOCK_BYTES)
    const end = from + this.#inner.write(text, from)
    this.#outer.write(hash(ALGORITHM, this.#inner.subarray(0, end), 'binary'), BLOCK_BYTES, 'latin1')
    return hash(ALGORITHM, this.#outer, 'hex')
  }
}
