/** @module What the C2SP texts share: decimal numbers without leading zeros, and hashes one a line. */
import { fromBase64 } from './base64.ts'
import { HASH_BYTES } from './hashes.ts'

const DECIMAL = /^(?:0|[1-9]\d{0,15})$/

/** The number of its one decimal spelling; undefined for any other text, and above 2**53 - 1. */
export function parseDecimal(text: string): number | undefined {
  const value = DECIMAL.test(text) ? Number(text) : Number.NaN
  return Number.isSafeInteger(value) ? value : undefined
}

/** 32 bytes of base64; undefined for anything else. */
export function parseHash(text: string): Uint8Array | undefined {
  const bytes = fromBase64(text)
  return bytes?.length === HASH_BYTES ? bytes : undefined
}

/** Undefined where one line is no hash. */
export function parseHashes(lines: readonly string[]): readonly Uint8Array[] | undefined {
  const hashes = lines.map(parseHash).filter((hash) => hash !== undefined)
  return hashes.length === lines.length ? hashes : undefined
}
