/** @module Digests and ids of many records, packed in byte columns. */

export const DIGEST_BYTES = 32
/** Length of an id, which is stored as text. */
export const ID_BYTES = 36
const DIGEST_PREFIX = 'sha256:'

/** Packs a digest as formatted by `digestText`. */
export function packDigest(text: string, into: Buffer, at: number): void {
  into.write(text.slice(DIGEST_PREFIX.length), at, DIGEST_BYTES, 'hex')
}

export function digestAt(bytes: Uint8Array, at: number): string {
  return DIGEST_PREFIX + viewOf(bytes).toString('hex', at, at + DIGEST_BYTES)
}

/** Packs a UUID. */
export function packId(text: string, into: Buffer, at: number): void {
  into.write(text, at, ID_BYTES, 'latin1')
}

export function idAt(bytes: Uint8Array, at: number): string {
  return viewOf(bytes).toString('latin1', at, at + ID_BYTES)
}

const DIGIT_9 = 0x39
const DIGIT_0 = 0x30
const BEFORE_A = 0x57
const BITS_OF_DIGIT = 4

/** The number represented by at most seven lowercase hexadecimal digits. */
export function hexNumber(bytes: Uint8Array, from: number, to: number): number {
  let number = 0
  for (let at = from; at < to; at += 1) {
    const code = bytes[at] ?? 0
    number = (number << BITS_OF_DIGIT) | (code <= DIGIT_9 ? code - DIGIT_0 : code - BEFORE_A)
  }
  return number
}

/** A view of the same bytes. */
export function viewOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
