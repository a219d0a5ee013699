/**
 * @module The subset of the Protocol Buffers encoding that appends and reads need (protobuf.dev/programming-guides/encoding): varints and length-delimited
 * fields. The client's own library creates objects for every field of every event, which takes longer than the ledger takes to decide and seal.
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
/** Number of values of a 7-bit group. Used for arithmetic in place of shifts, since large values do not fit a bitwise operation. */
const GROUP_SIZE = 0x80
const GROUP_SIZE_64 = 0x80n
/** Maximum number of groups of an unsigned 64-bit integer. */
const VARINT_BYTES_MAX = 10
/** Number of groups whose bits a double represents exactly. */
const EXACT_GROUPS = 7
const LOW_48 = 2 ** 48

export class ProtobufError extends Error {
  readonly code = 'protobuf'

  constructor(what: string) {
    super(`the event store sent a message that ${what}`)
    this.name = 'ProtobufError'
  }
}

/** Encoded size of an unsigned integer up to `Number.MAX_SAFE_INTEGER`, in bytes. */
export function varintBytes(value: number): number {
  let bytes = 1
  for (let rest = value; rest >= GROUP_SIZE; rest = Math.floor(rest / GROUP_SIZE)) bytes += 1
  return bytes
}

/** Encoded size of a length-delimited field with a payload of `bytes` bytes; for field numbers up to 15. */
export function fieldBytes(bytes: number): number {
  return 1 + varintBytes(bytes) + bytes
}

/** Writes one message of known size into a single buffer. */
export class MessageWriter {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: number) {
    this.#bytes = Buffer.allocUnsafe(bytes)
  }

  /** Throws `RangeError` if the size was computed wrongly. */
  done(): Buffer {
    if (this.#at !== this.#bytes.length) throw new RangeError(`counted ${this.#bytes.length} bytes, wrote ${this.#at}`)
    return this.#bytes
  }

  number(field: number, value: number): this {
    return this.#varint((field << TYPE_BITS) | VARINT).#varint(value)
  }

  /** Writes tag and length of a field (text, bytes or message) with a payload of `bytes` bytes. */
  head(field: number, bytes: number): this {
    return this.#varint((field << TYPE_BITS) | WITH_LENGTH).#varint(bytes)
  }

  /** `bytes` is the `Buffer.byteLength` of the text. */
  text(field: number, value: string, bytes = Buffer.byteLength(value)): this {
    this.head(field, bytes)
    this.#at += this.#bytes.write(value, this.#at)
    return this
  }

  /** Copies fields that are already encoded. */
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

/** Reads the fields of one message. Each value is read by the method for its type, or skipped. Throws `ProtobufError`. */
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

  /** Number of the next field; 0 at the end. The value of the previous field must have been read or skipped. */
  next(): number {
    if (this.#at >= this.#end) return 0
    const tag = this.number()
    this.#type = tag & ((1 << TYPE_BITS) - 1)
    return tag >>> TYPE_BITS
  }

  /** Throws for values beyond the exact range of a double: no field read with this method grows that large. */
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

  /** The lowest 48 bits of an unsigned integer. */
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

  /** An unsigned 64-bit integer. */
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

  /** A view of the message's buffer: keeping it keeps the whole buffer in memory. */
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

  /** Advances by `bytes`; returns the previous offset. */
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
