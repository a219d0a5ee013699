/**
 * @module The little of Protocol Buffers' encoding that appends and reads need (protobuf.dev/programming-guides/encoding): varints, and fields
 * with a length. The client's own library makes objects of every field of every event, which takes longer than the ledger takes to decide and seal.
 */

const VARINT = 0
const FIXED64 = 1
const WITH_LENGTH = 2
const FIXED32 = 5
const FIXED64_BYTES = 8
const FIXED32_BYTES = 4
const TYPE_BITS = 3
const GROUP = 0x7f
const MORE = 0x80
/** Values above it do not fit a bitwise operation. */
const GROUP_SIZE = 0x80
const GROUP_SIZE_64 = 0x80n
/** Bits of an unsigned 64-bit integer come in so many groups at most. */
const VARINT_BYTES_MAX = 10
/** Groups whose bits a double holds exactly. */
const EXACT_GROUPS = 7
const LOW_48 = 2 ** 48

export class ProtobufError extends Error {
  readonly code = 'protobuf'

  constructor(what: string) {
    super(`the event store sent a message that ${what}`)
    this.name = 'ProtobufError'
  }
}

/** Bytes of an unsigned integer, at most `Number.MAX_SAFE_INTEGER`. */
export function varintBytes(value: number): number {
  let bytes = 1
  for (let rest = value; rest >= GROUP_SIZE; rest = Math.floor(rest / GROUP_SIZE)) bytes += 1
  return bytes
}

/** Bytes of a field of so many bytes, with what stands before them; of the fields up to 15. */
export function fieldBytes(bytes: number): number {
  return 1 + varintBytes(bytes) + bytes
}

/** Writes one message whose bytes were counted before, into one piece of memory. */
export class MessageWriter {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: number) {
    this.#bytes = Buffer.allocUnsafe(bytes)
  }

  /** Throws `RangeError` where it was counted wrong. */
  done(): Buffer {
    if (this.#at !== this.#bytes.length) throw new RangeError(`counted ${this.#bytes.length} bytes, wrote ${this.#at}`)
    return this.#bytes
  }

  number(field: number, value: number): this {
    return this.#varint((field << TYPE_BITS) | VARINT).#varint(value)
  }

  /** What stands before so many bytes of a field: of a text, of bytes or of a message. */
  head(field: number, bytes: number): this {
    return this.#varint((field << TYPE_BITS) | WITH_LENGTH).#varint(bytes)
  }

  /** `bytes` as `Buffer.byteLength` counts the text. */
  text(field: number, value: string, bytes = Buffer.byteLength(value)): this {
    this.head(field, bytes)
    this.#at += this.#bytes.write(value, this.#at)
    return this
  }

  /** Fields that were written before. */
  fields(bytes: Uint8Array): this {
    this.#bytes.set(bytes, this.#at)
    this.#at += bytes.length
    return this
  }

  #varint(value: number): this {
    let rest = value
    for (; rest >= GROUP_SIZE; rest = Math.floor(rest / GROUP_SIZE)) {
      this.#bytes[this.#at] = (rest % GROUP_SIZE) | MORE
      this.#at += 1
    }
    this.#bytes[this.#at] = rest
    this.#at += 1
    return this
  }
}

/** Field after field of one message. Values are read by the call that fits their field, or passed over. Throws `ProtobufError`. */
export class MessageReader {
  readonly #bytes: Buffer
  readonly #end: number
  #at: number
  #type = 0

  constructor(bytes: Buffer, from = 0, end = bytes.length) {
    this.#bytes = bytes
    this.#at = from
    this.#end = end
  }

  /** Number of the next field; 0 at the end. What was not read of the one before is to be passed over by `skip`. */
  next(): number {
    if (this.#at >= this.#end) return 0
    const tag = this.number()
    this.#type = tag & ((1 << TYPE_BITS) - 1)
    return tag >>> TYPE_BITS
  }

  /** Bits beyond what a double holds exactly are an error: nothing that is read by this grows so large. */
  number(): number {
    let [value, factor] = [0, 1]
    for (let groups = 0; groups < EXACT_GROUPS; groups += 1) {
      const byte = this.#byte()
      value += (byte & GROUP) * factor
      if (byte < MORE) return value
      factor *= GROUP_SIZE
    }
    throw new ProtobufError('holds a number that is too large')
  }

  /** Of an unsigned integer, the lowest 48 bits. */
  low48(): number {
    let [low, factor] = [0, 1]
    for (let groups = 0; groups < VARINT_BYTES_MAX; groups += 1) {
      const byte = this.#byte()
      if (groups < EXACT_GROUPS) low += (byte & GROUP) * factor
      if (byte < MORE) return low % LOW_48
      factor *= GROUP_SIZE
    }
    throw new ProtobufError('holds a number without end')
  }

  /** Unsigned, 64 bits. */
  bigint(): bigint {
    let [low, factor] = [0, 1]
    for (let groups = 0; groups < EXACT_GROUPS; groups += 1) {
      const byte = this.#byte()
      low += (byte & GROUP) * factor
      if (byte < MORE) return BigInt(low)
      factor *= GROUP_SIZE
    }
    let value = BigInt(low)
    let bigFactor = GROUP_SIZE_64 ** BigInt(EXACT_GROUPS)
    for (let groups = EXACT_GROUPS; groups < VARINT_BYTES_MAX; groups += 1) {
      const byte = this.#byte()
      value += BigInt(byte & GROUP) * bigFactor
      if (byte < MORE) return BigInt.asUintN(64, value)
      bigFactor *= GROUP_SIZE_64
    }
    throw new ProtobufError('holds a number without end')
  }

  /** A part of the message's own bytes: whoever keeps it keeps them all. */
  bytes(): Buffer {
    const from = this.#pass(this.number())
    return this.#bytes.subarray(from, this.#at)
  }

  text(): string {
    const from = this.#pass(this.number())
    return this.#bytes.toString('utf8', from, this.#at)
  }

  message(): MessageReader {
    const from = this.#pass(this.number())
    return new MessageReader(this.#bytes, from, this.#at)
  }

  skip(): void {
    if (this.#type === VARINT) for (; this.#byte() >= MORE; );
    else if (this.#type === WITH_LENGTH) this.#pass(this.number())
    else if (this.#type === FIXED64) this.#pass(FIXED64_BYTES)
    else if (this.#type === FIXED32) this.#pass(FIXED32_BYTES)
    else throw new ProtobufError(`holds a field of type ${this.#type}`)
  }

  /** Where the passed bytes began. */
  #pass(bytes: number): number {
    const from = this.#at
    if (bytes > this.#end - from) throw new ProtobufError('ends too early')
    this.#at = from + bytes
    return from
  }

  #byte(): number {
    if (this.#at >= this.#end) throw new ProtobufError('ends too early')
    const byte = this.#bytes[this.#at] as number
    this.#at += 1
    return byte
  }
}
