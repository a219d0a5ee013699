/** @module Bytes of server-sent events cut into their frames, so that one frame can be left out and every other goes on as it came. Pure. */
import { Buffer } from 'node:buffer'

const [LF, CR] = [10, 13]

/** A stream that has no empty line in so many bytes is none of events: it goes on in pieces. */
const FRAME_MAX_BYTES = 8 * 1024 * 1024

/** Gives whole frames, each with the empty line that ends it. A line ends in CR LF, LF or CR, wherever the portions are cut. */
export class FrameCutter {
  #held: Uint8Array[] = []
  #heldBytes = 0
  /** The line has nothing in it so far. */
  #isEmptyLine = false
  #afterReturn = false
  /** An empty line has ended in CR: a LF behind it belongs to it. */
  #isOver = false

  push(bytes: Uint8Array): Uint8Array[] {
    const frames: Uint8Array[] = []
    let from = 0
    const cut = (to: number): void => {
      frames.push(Buffer.concat([...this.#held, bytes.subarray(from, to)]))
      from = to
      this.#held = []
      this.#heldBytes = 0
      this.#isOver = false
    }
    for (const [i, byte] of bytes.entries()) {
      const isEndOfReturn = byte === LF && this.#afterReturn
      if (this.#isOver) cut(isEndOfReturn ? i + 1 : i)
      this.#afterReturn = byte === CR
      if (isEndOfReturn) continue
      const isEnd = byte === LF || byte === CR
      if (isEnd && this.#isEmptyLine) {
        if (byte === CR) this.#isOver = true
        else cut(i + 1)
      }
      this.#isEmptyLine = isEnd
    }
    this.#held.push(bytes.subarray(from))
    this.#heldBytes += bytes.length - from
    if (this.#heldBytes > FRAME_MAX_BYTES) {
      from = bytes.length
      cut(from)
    }
    return frames
  }

  /** What is left: a frame that was cut off, or that ended in CR. */
  end(): Uint8Array {
    const rest = Buffer.concat(this.#held)
    this.#held = []
    return rest
  }
}

/** What the frame says; undefined where it has no data: a comment, or the time to wait before a reconnect. */
export function dataOf(frame: Uint8Array): string | undefined {
  const data = new TextDecoder()
    .decode(frame)
    .split(/\r\n|\n|\r/)
    .flatMap((line) => {
      const [, field, value = ''] = /^([^:]*)(?::[ ]?(.*))?$/s.exec(line) ?? []
      return field === 'data' ? [value] : []
    })
  return data.length === 0 ? undefined : data.join('\n')
}
