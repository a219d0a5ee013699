/** @module Common parts of the C2SP text formats: decimal numbers without leading zeros, and hashes, one per line. */
import { fromBase64 } from './base64.ts'
import { HASH_BYTES } from './hashes.ts'

const DECIMAL = /^(?:0|[1-9]\d{0,15})$/

/** Parses a canonical decimal number; undefined for any other text, and above 2**53 - 1. */
export function parseDecimal(text: string): number | undefined {
  const value = DECIMAL.test(text) ? Number(text) : Number.NaN
  return Number.isSafeInteger(value) ? value : undefined
}

/** Parses 32 bytes of base64; undefined for anything else. */
export function parseHash(text: string): Uint8Array | undefined {
  const bytes = fromBase64(text)
  return bytes?.length === HASH_BYTES ? bytes : undefined
}

/** Parses one hash per line; undefined if any line is not a hash. */
export function parseHashes(lines: readonly string[]): readonly Uint8Array[] | undefined {
  const hashes = lines.map(parseHash).filter((hash) => hash !== undefined)
  return hashes.length === lines.length ? hashes : undefined
}
