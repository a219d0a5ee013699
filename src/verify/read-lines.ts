/** @module Splitting of a byte stream into lines of bytes, in bounded memory; decoding is left to callers, which must detect invalid UTF-8. */
import { Buffer } from 'node:buffer'

export interface Line {
  /** Number of the line, from 1. */
  readonly number: number
  /** Without the line feed; for a line that is too long, only its beginning. */
  readonly bytes: Buffer
  /** The line is longer than the limit; the rest of it is discarded. */
  readonly tooLong: boolean
  /** False for the last line of a stream that does not end in a line feed. */
  readonly ended: boolean
}

const LINE_FEED = 0x0a

/** Lines in groups, at most one group per chunk, so that a slow consumer applies backpressure. */
export async function* readLines(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<readonly Line[], void> {
  const gathered = new Gathered(maxBytes)
  for await (const bytes of chunks) {
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const lines: Line[] = []
    let start = 0
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      lines.push(gathered.take(chunk.subarray(start, end), true))
      start = end + 1
    }
    gathered.keep(chunk.subarray(start))
    if (lines.length > 0) yield lines
  }
  if (gathered.hasRest) yield [gathered.take(Buffer.alloc(0), false)]
}

/** The beginning of a line whose end has not been read yet. */
class Gathered {
  readonly #maxBytes: number
  #parts: Buffer[] = []
  #bytes = 0
  #number = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get hasRest(): boolean {
    return this.#bytes > 0
  }

  keep(part: Buffer): void {
    if (part.length === 0) return
    if (this.#bytes <= this.#maxBytes) this.#parts.push(part)
    this.#bytes += part.length
  }

  take(last: Buffer, ended: boolean): Line {
    this.keep(last)
    const tooLong = this.#bytes > this.#maxBytes
    const whole = this.#parts.length === 1 ? this.#parts[0] : Buffer.concat(this.#parts)
    const bytes = (whole ?? last).subarray(0, this.#maxBytes)
    this.#parts = []
    this.#bytes = 0
    this.#number += 1
    return { number: this.#number, bytes, tooLong, ended }
  }
}
