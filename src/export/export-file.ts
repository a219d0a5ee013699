/** @module The bytes of one file that is exported: written as UTF-8 as they come, digested whole, sent from an offset on. */
import { createHash } from 'node:crypto'

/** A UTF-16 unit takes at most three bytes of UTF-8. */
const UNIT_BYTES = 3
const FIRST_BYTES = 16 * 1024

/** Text as bytes, written where it is gathered: to join the lines first, as one string, takes four times as long. */
export class TextBytes {
  /** Bytes since the last portion. */
  waiting = 0
  #room = Buffer.alloc(0)

  add(text: string): void {
    if (text !== '') this.waiting += this.#roomFor(text).write(text, this.waiting)
  }

  /** What was added since the last time, in a buffer that holds nothing else. */
  take(): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(this.waiting)
    bytes.set(this.#room.subarray(0, this.waiting))
    this.waiting = 0
    return bytes
  }

  #roomFor(text: string): Buffer {
    const room = this.#room
    if (this.waiting + text.length * UNIT_BYTES <= room.length) return room
    const needed = this.waiting + Buffer.byteLength(text)
    if (needed <= room.length) return room
    this.#room = Buffer.allocUnsafeSlow(Math.max(needed, 2 * room.length, FIRST_BYTES))
    room.copy(this.#room, 0, 0, this.waiting)
    return this.#room
  }
}

export class ExportFile {
  bytes = 0
  readonly #hash = createHash('sha256')
  readonly #offset: number
  readonly #text = new TextBytes()

  constructor(offset: number) {
    this.#offset = offset
  }

  get waiting(): number {
    return this.#text.waiting
  }

  add(text: string): void {
    this.#text.add(text)
  }

  /** What was added since the last one, without what lies before the offset. */
  portion(): Uint8Array {
    return this.pass(this.#text.take())
  }

  /** The same of bytes that were made elsewhere. */
  pass(bytes: Uint8Array): Uint8Array {
    const known = Math.min(Math.max(this.#offset - this.bytes, 0), bytes.length)
    this.#hash.update(bytes)
    this.bytes += bytes.length
    return bytes.subarray(known)
  }

  /** Of all that was sent in portions so far. */
  digest(): string {
    return `sha256:${this.#hash.copy().digest('hex')}`
  }
}
