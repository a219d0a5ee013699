/** @module Salts from random bytes drawn in bulk: a system call for each would cost as much as the seal. */
import { SALT_BYTES } from '../../schemas/header.ts'
import type { RandomBytes } from './key-ring.ts'

const POOL_BYTES = 4096

/** A source of salts of 16 bytes, each used once. */
export function createSaltPool(random: RandomBytes): () => Uint8Array {
  let pool = new Uint8Array(0)
  let at = 0
  return () => {
    if (at + SALT_BYTES > pool.length) {
      pool = new Uint8Array(random(POOL_BYTES))
      at = 0
    }
    const start = at
    at += SALT_BYTES
    // A copy, not a view: a view handed to a worker thread would take the whole pool along.
    return pool.slice(start, at)
  }
}
