/** @module Splits a byte stream into lines without decoding, so that relayed bytes stay unchanged. */
import { Buffer } from 'node:buffer'

/** Exceeds every message of the protocol: a sender of longer lines is broken, and its lines cannot be examined. */
const LINE_MAX_BYTES = 256 * 1024 * 1024

const LINE_FEED = 0x0a

/** One line including its line feed; the last line of a stream may have none. */
export interface RawLine {
  /** The received bytes, in order. */
  readonly parts: readonly Buffer[]
  readonly bytes: number
}

/** Returns the bytes of a line as one buffer. */
export function wholeLine({ parts }: RawLine): Buffer {
  const [first] = parts
  return parts.length === 1 && first !== undefined ? first : Buffer.concat(parts)
}

/** Throws `LineTooLong`. */
export async function* rawLines(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes = LINE_MAX_BYTES,
): AsyncGenerator<RawLine, void> {
  let parts: Buffer[] = []
  let bytes = 0
  for await (const piece of chunks) {
    const chunk = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)
    let start = 0
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      const last = chunk.subarray(start, end + 1)
      yield { parts: [...parts, last], bytes: bytes + last.length }
      parts = []
      bytes = 0
      start = end + 1
    }
    const rest = chunk.subarray(start)
    if (rest.length === 0) continue
    parts.push(rest)
    bytes += rest.length
    if (bytes > maxBytes) throw new LineTooLong(maxBytes)
  }
  if (bytes > 0) yield { parts, bytes }
}

export class LineTooLong extends Error {
  constructor(maxBytes: number) {
    super(`a line of more than ${maxBytes} bytes: the session ends, since nothing can be said of it`)
    this.name = 'LineTooLong'
  }
}
