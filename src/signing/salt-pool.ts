/** @module Salts from random bytes drawn in bulk, because a system call for each salt would cost as much as the seal. */
import { SALT_BYTES } from '../../schemas/header.ts'
import type { RandomBytes } from './key-ring.ts'

const POOL_BYTES = 4096

/** Creates a source of 16-byte salts, each used once. */
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
    // A copy, not a view: a view sent to a worker thread would take the whole pool with it.
    return pool.slice(start, at)
  }
}
