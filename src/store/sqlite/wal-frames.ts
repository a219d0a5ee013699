/**
 * @module Decodes the WAL of an SQLite file frame by frame (sqlite.org/fileformat2.html, section 4). SQLite itself stops at the first frame with a wrong
 * checksum and does not report what follows; this module reads the rest as well.
 */

export const WAL_HEADER_BYTES = 32
export const FRAME_HEADER_BYTES = 24
const MAGIC = 0x377f0682
const MAGIC_BIG_ENDIAN = 0x377f0683
const HEADER_SUMMED_BYTES = 24
const FRAME_SUMMED_BYTES = 8
const WORD_BYTES = 4
const WORD_BITS = 32
const HOST_IS_BIG_ENDIAN = new Uint8Array(Uint32Array.of(1).buffer)[0] === 0

export interface Sum {
  readonly s1: number
  readonly s2: number
}

export interface WalHeader {
  readonly bigEndian: boolean
  readonly pageBytes: number
  /** Salts of the frames of this generation; they change each time the WAL starts over. */
  readonly salts: Sum
  readonly stored: Sum
  /** Whether the stored checksum matches the header. */
  readonly checks: boolean
}

export interface WalFrame {
  readonly page: number
  /** Size of the database in pages after a commit; 0 in a frame that is not a commit. */
  readonly commitPages: number
  readonly salts: Sum
  readonly stored: Sum
}

/** Undefined if these bytes are not a WAL header. */
export function readWalHeader(bytes: Uint8Array): WalHeader | undefined {
  const view = viewOf(bytes)
  const magic = view.getUint32(0)
  if (magic !== MAGIC && magic !== MAGIC_BIG_ENDIAN) return undefined
  const bigEndian = magic === MAGIC_BIG_ENDIAN
  const stored = sumAt(view, HEADER_SUMMED_BYTES)
  const sum = checksum(bytes.subarray(0, HEADER_SUMMED_BYTES), { s1: 0, s2: 0 }, bigEndian)
  return { bigEndian, pageBytes: view.getUint32(8), salts: sumAt(view, 16), stored, checks: same(sum, stored) }
}

export function readFrame(bytes: Uint8Array): WalFrame {
  const view = viewOf(bytes)
  return { page: view.getUint32(0), commitPages: view.getUint32(4), salts: sumAt(view, 8), stored: sumAt(view, 16) }
}

/** The checksum of a frame whose predecessor has the stored checksum `before`. */
export function frameSum(bytes: Uint8Array, before: Sum, bigEndian: boolean): Sum {
  const head = checksum(bytes.subarray(0, FRAME_SUMMED_BYTES), before, bigEndian)
  return checksum(bytes.subarray(FRAME_HEADER_BYTES), head, bigEndian)
}

export function same(a: Sum, b: Sum): boolean {
  return a.s1 === b.s1 && a.s2 === b.s2
}

/** Number of bits in which two pairs differ. */
export function distance(a: Sum, b: Sum): number {
  return bits(a.s1 ^ b.s1) + bits(a.s2 ^ b.s2)
}

/**
 * Whether flipping one bit of the summed part of a frame makes its checksum correct. This proves damage to bytes that were complete once, since an
 * interrupted write does not differ by one bit. The checksum is linear in its words, so the bits need not be tried one by one.
 */
export function isOneBitOff(bytes: Uint8Array, { before, stored, bigEndian }: OneBitQuestion): boolean {
  const sum = frameSum(bytes, before, bigEndian)
  const target = { s1: (stored.s1 - sum.s1) | 0, s2: (stored.s2 - sum.s2) | 0 }
  const words = [
    ...wordsOf(bytes.subarray(0, FRAME_SUMMED_BYTES), bigEndian),
    ...wordsOf(bytes.subarray(FRAME_HEADER_BYTES), bigEndian),
  ]
  // The effect on the sum of adding one to the first or the second word of a pair; each preceding pair mixes it once more.
  let first = { s1: 1, s2: 1 }
  let second = { s1: 0, s2: 1 }
  for (let at = words.length - 2; at >= 0; at -= 2) {
    if (oneBit(words[at] ?? 0, first, target) || oneBit(words[at + 1] ?? 0, second, target)) return true
    first = mixed(first)
    second = mixed(second)
  }
  return false
}

interface OneBitQuestion {
  readonly before: Sum
  readonly stored: Sum
  readonly bigEndian: boolean
}

function oneBit(word: number, effect: Sum, target: Sum): boolean {
  for (let bit = 0; bit < WORD_BITS; bit += 1) {
    const value = (1 << bit) | 0
    const delta = (word & value) === 0 ? value : -value | 0
    if (Math.imul(effect.s1, delta) === target.s1 && Math.imul(effect.s2, delta) === target.s2) return true
  }
  return false
}

function mixed({ s1, s2 }: Sum): Sum {
  const next = (s1 + s2) | 0
  return { s1: next, s2: (s2 + next) | 0 }
}

function checksum(bytes: Uint8Array, { s1, s2 }: Sum, bigEndian: boolean): Sum {
  const words = wordsOf(bytes, bigEndian)
  let [a, b] = [s1 | 0, s2 | 0]
  for (let at = 0; at < words.length; at += 2) {
    a = (a + (words[at] ?? 0) + b) | 0
    b = (b + (words[at + 1] ?? 0) + a) | 0
  }
  return { s1: a >>> 0, s2: b >>> 0 }
}

/** `bytes` must be word-aligned in its buffer. */
function wordsOf(bytes: Uint8Array, bigEndian: boolean): Int32Array {
  const words = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / WORD_BYTES)
  if (bigEndian === HOST_IS_BIG_ENDIAN) return words
  const swapped = Buffer.from(bytes).swap32()
  return new Int32Array(swapped.buffer, swapped.byteOffset, words.length)
}

function bits(value: number): number {
  let count = 0
  for (let rest = value >>> 0; rest !== 0; rest &= rest - 1) count += 1
  return count
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function sumAt(view: DataView, at: number): Sum {
  return { s1: view.getUint32(at), s2: view.getUint32(at + WORD_BYTES) }
}
