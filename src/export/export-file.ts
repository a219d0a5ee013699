/** @module The bytes of one file that is exported: written as UTF-8 as they come, digested whole, sent from an offset on. */
import { createHash } from 'node:crypto'

/** A UTF-16 unit takes at most three bytes of UTF-8. */
const UNIT_BYTES = 3
const FIRST_BYTES = 16 * 1024

const QUOTE = 0x22
const BACKSLASH = 0x5c
const CONTROLS_END = 0x20

/** How a text is written between quotes. */
interface Within {
  /** Of each byte, how many stand for it; 0 for those whose escapes are of several forms. */
  readonly bytes: Uint8Array
  /** What stands before the byte where it is two. */
  readonly mark: number
}

/** A string of JSON. */
const JSON_STRING: Within = {
  bytes: Uint8Array.from({ length: 256 }, (_, byte) => {
    if (byte < CONTROLS_END) return 0
    return byte === QUOTE || byte === BACKSLASH ? 2 : 1
  }),
  mark: BACKSLASH,
}
/** A cell of CSV. */
const CSV_CELL: Within = {
  bytes: Uint8Array.from({ length: 256 }, (_, byte) => (byte === QUOTE ? 2 : 1)),
  mark: QUOTE,
}
/** Longer texts are escaped by the engine. */
const SCRATCH_BYTES = 64 * 1024
const scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES)

/** Text as bytes, written where it is gathered: to join the lines first, as one string, takes four times as long. */
export class TextBytes {
  /** Bytes since the last portion. */
  waiting = 0
  #room: Buffer

  /** With room for so many: each time that it is too little, as much again is copied. */
  constructor(roomBytes = 0) {
    this.#room = Buffer.allocUnsafeSlow(roomBytes)
  }

  /** That it holds on to. */
  get roomBytes(): number {
    return this.#room.length
  }

  add(text: string): void {
    if (text !== '') this.waiting += this.#roomFor(text).write(text, this.waiting)
  }

  /**
   * A well-formed text as it stands within a string of JSON, without the quotes around it. The engine takes twice as long for that, and the text that it
   * makes is copied twice more.
   */
  addEscaped(text: string): void {
    if (!this.#addWithin(text, JSON_STRING)) this.add(JSON.stringify(text).slice(1, -1))
  }

  /** A well-formed text as it stands within a quoted cell of CSV, without the quotes around it: the engine takes thrice as long. */
  addDoubled(text: string): void {
    if (!this.#addWithin(text, CSV_CELL)) this.add(text.replaceAll('"', '""'))
  }

  /** False, and nothing is added, where it is long or holds what is escaped in several forms. */
  #addWithin(text: string, { bytes: bytesOf, mark }: Within): boolean {
    if (text.length * UNIT_BYTES > SCRATCH_BYTES) return false
    // What is marked here is one byte by itself and two with its mark: fewer than a unit may take.
    const room = this.#reserved(text.length * UNIT_BYTES)
    const end = scratch.write(text)
    let to = this.waiting
    for (let at = 0; at < end; at += 1) {
      const byte = scratch[at] as number
      const bytes = bytesOf[byte]
      if (bytes === 0) return false
      if (bytes === 2) {
        room[to] = mark
        to += 1
      }
      room[to] = byte
      to += 1
    }
    this.waiting = to
    return true
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
    return this.#reserved(Buffer.byteLength(text))
  }

  /** With so many bytes free. */
  #reserved(bytes: number): Buffer {
    const room = this.#room
    const needed = this.waiting + bytes
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

  addEscaped(text: string): void {
    this.#text.addEscaped(text)
  }

  addDoubled(text: string): void {
    this.#text.addDoubled(text)
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
