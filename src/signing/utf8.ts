/** @module Strict UTF-8 (RFC 3629): bytes in, text out, nothing replaced by U+FFFD on the way. */
import { isUtf8 } from 'node:buffer'

/** The text of valid UTF-8; undefined for anything else. A byte order mark stays in the text as U+FEFF. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  if (!isUtf8(bytes)) return undefined
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
}

/** Offset of the first byte that no valid text has there; the length where the bytes are valid. */
export function invalidUtf8At(bytes: Uint8Array): number {
  let at = 0
  while (at < bytes.length) {
    const length = sequenceLength(bytes[at] ?? 0)
    if (length === 0 || !isUtf8(bytes.subarray(at, at + length))) return at
    at += length
  }
  return at
}

function sequenceLength(lead: number): number {
  if (lead < 0x80) return 1
  if (lead < 0xc2) return 0
  if (lead < 0xe0) return 2
  if (lead < 0xf0) return 3
  return lead < 0xf5 ? 4 : 0
}
