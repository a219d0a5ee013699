/** @module Splits bytes of server-sent events into frames, so that one frame can be left out while all others are relayed unchanged. Pure. */
import { Buffer } from 'node:buffer'

const [LF, CR] = [10, 13]

/** A stream without an empty line within this many bytes does not consist of events; it is passed on in pieces. */
const FRAME_MAX_BYTES = 8 * 1024 * 1024

/** Returns whole frames, each including the empty line that ends it. Lines end in CR LF, LF or CR, even if split between chunks. */
export class FrameCutter {
  #held: Uint8Array[] = []
  #heldBytes = 0
  /** Whether the current line is empty so far. */
  #isEmptyLine = false
  #afterReturn = false
  /** Whether an empty line has ended in CR, so that a following LF belongs to it. */
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

  /** The remaining bytes: a truncated frame, or one that ended in CR. */
  end(): Uint8Array {
    const rest = Buffer.concat(this.#held)
    this.#held = []
    return rest
  }
}

/** The data of the frame; undefined if it has none, as for a comment or a reconnection time. */
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
