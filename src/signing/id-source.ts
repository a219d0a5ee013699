/** @module Time-ordered ids: UUIDv7 (RFC 9562, section 5.7), from random bytes drawn in bulk, since every event needs an id. */
import type { RandomBytes } from './key-ring.ts'

/** Random bytes drawn per id; the id uses 74 bits of them. */
const RANDOM_BYTES = 10
const POOL_BYTES = 512 * RANDOM_BYTES
const TEXT_CHARS = 36
const TIME_DIGITS = 12
const VERSION_AT = 14
const VARIANT_AT = 19
/** Offsets of the pairs of hexadecimal digits that are fully random, excluding those with the version and the variant. */
const PAIRS_AT = [16, 21, 24, 26, 28, 30, 32, 34] as const

const digits = Buffer.from('0123456789abcdef', 'latin1')
/** The two variant bits of RFC 9562, section 4.1, followed by two random bits. */
const variants = Buffer.from('89ab', 'latin1')

/**
 * Creates a source of lowercase UUIDs that sort by the millisecond of `nowMs`. Each is a flat string: it lives as long as its run, and a
 * concatenated one would keep its pieces alive.
 */
export function createIdSource(random: RandomBytes, nowMs: () => number): () => string {
  const text = Buffer.from('00000000-0000-7000-8000-000000000000', 'latin1')
  let pool: Uint8Array = new Uint8Array(0)
  let at = 0
  let shownMs = 0
  return () => {
    if (at + RANDOM_BYTES > pool.length) {
      pool = random(POOL_BYTES)
      at = 0
    }
    const ms = nowMs()
    if (ms !== shownMs) {
      shownMs = ms
      const time = ms.toString(16).padStart(TIME_DIGITS, '0')
      text.write(`${time.slice(0, 8)}-${time.slice(8)}`, 0, 'latin1')
    }
    for (const place of PAIRS_AT) {
      const byte = pool[at++] as number
      text[place] = digits[byte >> 4] as number
      text[place + 1] = digits[byte & 0xf] as number
    }
    const [first, last] = [pool[at++] as number, pool[at++] as number]
    text[VERSION_AT + 1] = digits[first >> 4] as number
    text[VARIANT_AT] = variants[first & 0x3] as number
    text[VARIANT_AT + 1] = digits[last >> 4] as number
    return text.toString('latin1', 0, TEXT_CHARS)
  }
}
