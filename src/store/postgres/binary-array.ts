/**
 * @module Encodes arrays as parameters in PostgreSQL's binary format: texts are sent as they are, whereas the textual format escapes each quotation mark
 * and backslash of a JSON text and encodes bytes in hexadecimal, which the server then has to decode. (PostgreSQL source, `array_recv` in
 * utils/adt/arrayfuncs.c.)
 */

/** Header of a one-dimensional array: number of dimensions, null flag, element type, element count, first index. */
const HEAD_BYTES = 20
const LENGTH_BYTES = 4
const NULL_LENGTH = -1

/** Type oids (catalog/pg_type.dat); they never change. */
const BYTEA = 17
const INT8 = 20
const INT4 = 23
const TEXT = 25

export function textArray(values: readonly (string | null)[]): Buffer {
  const lengths = values.map((value) => (value === null ? NULL_LENGTH : Buffer.byteLength(value)))
  return arrayOf(TEXT, lengths, (buffer, at, index) => buffer.write(values[index] as string, at, 'utf8'))
}

export function bytesArray(values: readonly Uint8Array[]): Buffer {
  const lengths = values.map(({ byteLength }) => byteLength)
  return arrayOf(BYTEA, lengths, (buffer, at, index) => buffer.set(values[index] as Uint8Array, at))
}

export function integerArray(values: readonly number[]): Buffer {
  const lengths = values.map(() => 4)
  return arrayOf(INT4, lengths, (buffer, at, index) => buffer.writeInt32BE(values[index] as number, at))
}

/** The values must be safe integers. */
export function bigintArray(values: readonly number[]): Buffer {
  const lengths = values.map(() => 8)
  return arrayOf(INT8, lengths, (buffer, at, index) => buffer.writeBigInt64BE(BigInt(values[index] as number), at))
}

function arrayOf(
  type: number,
  lengths: readonly number[],
  write: (buffer: Buffer, at: number, index: number) => unknown,
): Buffer {
  const bytes = lengths.reduce((sum, length) => sum + LENGTH_BYTES + Math.max(length, 0), HEAD_BYTES)
  const buffer = Buffer.allocUnsafe(bytes)
  // An empty array has zero dimensions; PostgreSQL refuses one dimension of length zero.
  const dimensions = lengths.length === 0 ? 0 : 1
  buffer.writeInt32BE(dimensions, 0)
  buffer.writeInt32BE(lengths.includes(NULL_LENGTH) ? 1 : 0, 4)
  buffer.writeInt32BE(type, 8)
  if (dimensions === 0) return buffer.subarray(0, 12)
  buffer.writeInt32BE(lengths.length, 12)
  buffer.writeInt32BE(1, 16)
  let at = HEAD_BYTES
  for (const [index, length] of lengths.entries()) {
    buffer.writeInt32BE(length, at)
    at += LENGTH_BYTES
    if (length === NULL_LENGTH) continue
    write(buffer, at, index)
    at += length
  }
  return buffer
}
