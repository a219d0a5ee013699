/** @module The bytes of one exported file: encoded as UTF-8 when added, hashed as a whole, and sent from an offset on. */
import { createHash } from 'node:crypto'

/** A UTF-16 code unit takes at most three bytes in UTF-8. */
const UNIT_BYTES = 3
const FIRST_BYTES = 16 * 1024

const QUOTE = 0x22
const BACKSLASH = 0x5c
const CONTROLS_END = 0x20

/** Rules for writing a text between quotes. */
interface Within {
  /** For each byte value, the number of bytes that represent it; 0 for bytes with several escape forms. */
  readonly bytes: Uint8Array
  /** The byte that precedes a byte represented by two. */
  readonly mark: number
}

/** A JSON string. */
const JSON_STRING: Within = {
  bytes: Uint8Array.from({ length: 256 }, (_, byte) => {
    if (byte < CONTROLS_END) return 0
    return byte === QUOTE || byte === BACKSLASH ? 2 : 1
  }),
  mark: BACKSLASH,
}
/** A CSV cell. */
const CSV_CELL: Within = {
  bytes: Uint8Array.from({ length: 256 }, (_, byte) => (byte === QUOTE ? 2 : 1)),
  mark: QUOTE,
}
/** Longer texts are escaped by the engine. */
const SCRATCH_BYTES = 64 * 1024
const scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES)

/** Text as bytes, encoded directly into the buffer: joining the lines as one string first takes four times as long. */
export class TextBytes {
  /** Number of bytes since the last portion. */
  waiting = 0
  #room: Buffer

  /** `roomBytes`: initial size of the buffer; each time it is too small, its content is copied to a larger one. */
  constructor(roomBytes = 0) {
    this.#room = Buffer.allocUnsafeSlow(roomBytes)
  }

  /** Size of the buffer. */
  get roomBytes(): number {
    return this.#room.length
  }

  add(text: string): void {
    if (text !== '') this.waiting += this.#roomFor(text).write(text, this.waiting)
  }

  /**
   * Adds a well-formed text as the content of a JSON string, without the quotes around it. The engine takes twice as long for this, and copies the resulting
   * text twice more.
   */
  addEscaped(text: string): void {
    if (!this.#addWithin(text, JSON_STRING)) this.add(JSON.stringify(text).slice(1, -1))
  }

  /** Adds a well-formed text as the content of a quoted CSV cell, without the quotes around it: the engine takes three times as long. */
  addDoubled(text: string): void {
    if (!this.#addWithin(text, CSV_CELL)) this.add(text.replaceAll('"', '""'))
  }

  /** Returns false and adds nothing if the text is long, or contains a byte with several escape forms. */
  #addWithin(text: string, { bytes: bytesOf, mark }: Within): boolean {
    if (text.length * UNIT_BYTES > SCRATCH_BYTES) return false
    // A marked byte takes two bytes, which is less than the three reserved per code unit.
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

  /** Returns what was added since the last call, in a buffer of exactly that size. */
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

  /** The buffer, with at least `bytes` bytes free. */
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

  /** What was added since the last portion, without the bytes before the offset. */
  portion(): Uint8Array {
    return this.pass(this.#text.take())
  }

  /** Counts and hashes bytes that were produced elsewhere, and returns them without those before the offset. */
  pass(bytes: Uint8Array): Uint8Array {
    const known = Math.min(Math.max(this.#offset - this.bytes, 0), bytes.length)
    this.#hash.update(bytes)
    this.bytes += bytes.length
    return bytes.subarray(known)
  }

  /** Digest of all portions so far. */
  digest(): string {
    return `sha256:${this.#hash.copy().digest('hex')}`
  }
}
