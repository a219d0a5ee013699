/** @module Digests and ids of many records beside one another, in columns of bytes. */

export const DIGEST_BYTES = 32
/** Of an id, which is kept as its text. */
export const ID_BYTES = 36
const DIGEST_PREFIX = 'sha256:'

/** Takes a text that `digestText` makes. */
export function packDigest(text: string, into: Buffer, at: number): void {
  into.write(text.slice(DIGEST_PREFIX.length), at, DIGEST_BYTES, 'hex')
}

export function digestAt(bytes: Uint8Array, at: number): string {
  return DIGEST_PREFIX + viewOf(bytes).toString('hex', at, at + DIGEST_BYTES)
}

/** Takes a UUID. */
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

/** The number that hexadecimal digits in lowercase stand for, at most seven of them. */
export function hexNumber(bytes: Uint8Array, from: number, to: number): number {
  let number = 0
  for (let at = from; at < to; at += 1) {
    const code = bytes[at] ?? 0
    number = (number << BITS_OF_DIGIT) | (code <= DIGIT_9 ? code - DIGIT_0 : code - BEFORE_A)
  }
  return number
}

/** The same bytes. */
export function viewOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
