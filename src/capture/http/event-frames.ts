/** @module Splits an event stream into frames with unchanged bytes, each with the message in it. */
import { Buffer } from 'node:buffer'
import { LineTooLong } from '../lines.ts'
import type { Framed } from '../relay.ts'

const FRAME_MAX_BYTES = 256 * 1024 * 1024

export interface EventFrame extends Framed {
  /** The stream can be resumed after this frame. */
  readonly hasId: boolean
}

/**
 * A frame ends with an empty line, after LF, CRLF or CR. Bytes after the last whole frame are not an event, and are passed on unchanged. Throws `LineTooLong`.
 */
export async function* eventFrames(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes = FRAME_MAX_BYTES,
): AsyncGenerator<EventFrame, void> {
  let parts: Buffer[] = []
  let bytes = 0
  const scan = new EmptyLine()
  for await (const piece of chunks) {
    const chunk = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)
    let start = 0
    for (let end = scan.next(chunk, 0); end >= 0; end = scan.next(chunk, end)) {
      yield frameOf([...parts, chunk.subarray(start, end)])
      parts = []
      bytes = 0
      start = end
    }
    if (start === chunk.length) continue
    parts.push(chunk.subarray(start))
    bytes += chunk.length - start
    if (bytes > maxBytes) throw new LineTooLong(maxBytes)
  }
  if (parts.length > 0) yield { parts, message: Buffer.alloc(0), hasId: false }
}

const LF = 0x0a
const CR = 0x0d

/** Finds the ends of frames, even if split between chunks. An LF directly after a CR belongs to it. */
class EmptyLine {
  #isLineEmpty = true
  #afterCr = false

  /** The index after the line end that completes an empty line; -1 if the chunk has none from `from` on. */
  next(chunk: Buffer, from: number): number {
    for (let at = from; at < chunk.length; at += 1) {
      const byte = chunk[at]
      const isRest = byte === LF && this.#afterCr
      this.#afterCr = byte === CR
      if (isRest) continue
      if (byte !== LF && byte !== CR) {
        this.#isLineEmpty = false
        // Skips the rest of the line, which makes up most bytes.
        at = lineEnd(chunk, at + 1) - 1
        continue
      }
      const ends = this.#isLineEmpty
      this.#isLineEmpty = true
      if (ends) return at + 1
    }
    return -1
  }
}

function lineEnd(chunk: Buffer, from: number): number {
  const lf = chunk.indexOf(LF, from)
  const limit = lf < 0 ? chunk.length : lf
  const cr = chunk.subarray(from, limit).indexOf(CR)
  return cr < 0 ? limit : from + cr
}

function frameOf(parts: readonly Buffer[]): EventFrame {
  const [first] = parts
  const whole = parts.length === 1 && first !== undefined ? first : Buffer.concat(parts)
  const data: Buffer[] = []
  let hasId = false
  for (let at = 0; at < whole.length; ) {
    const end = lineEnd(whole, at)
    const line = whole.subarray(at, end)
    if (line.subarray(0, 5).toString('latin1') === 'data:') {
      if (data.length > 0) data.push(Buffer.from('\n'))
      data.push(line.subarray(line[5] === 0x20 ? 6 : 5))
    }
    hasId ||= /^id(:|$)/.test(line.subarray(0, 3).toString('latin1'))
    at = end + 1
  }
  const [only] = data
  return { parts: [whole], message: data.length === 1 && only !== undefined ? only : Buffer.concat(data), hasId }
}

/** Wraps a message in a frame, each line of it on a line of its own. */
export function frameWith(message: string): string {
  return `${message
    .trimEnd()
    .split(/\r\n|\r|\n/)
    .map((line) => `data: ${line}\n`)
    .join('')}\n`
}
