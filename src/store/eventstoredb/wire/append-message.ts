/**
 * @module Encodes the BatchAppend request of EventStoreDB's `streams.proto` and decodes its response. Data and metadata are sent as exactly the bytes that
 * were signed: the client would parse them and print them in another order.
 */
import { fieldBytes, MessageReader, MessageWriter, varintBytes } from './protobuf.ts'

/** An event in the form that the server accepts; `id` is a UUID, `data` and `metadata` are JSON. */
export interface ServerEvent {
  readonly id: string
  readonly type: string
  readonly data: string
  readonly metadata: string
}

export interface AppendMessage {
  /** A UUID whose last 48 bits, a number, are returned with the answer. */
  readonly correlation: string
  readonly stream: string
  /** `undefined`: the stream must not exist. */
  readonly expectedRevision: number | undefined
  /** Deadline for the server to accept the append; milliseconds since 1970, by this machine's clock. */
  readonly deadlineMs: number
  readonly events: readonly ServerEvent[]
}

/** Field numbers by message. */
const REQUEST = { correlation: 1, options: 2, event: 3, isFinal: 4 } as const
const OPTIONS = { stream: 1, revision: 2, noStream: 3, deadline: 6 } as const
const EVENT = { id: 1, metadata: 2, customMetadata: 3, data: 4 } as const
const UUID = { structured: 1, text: 2 } as const
const STRUCTURED = { leastSignificant: 2 } as const
const MAP = { key: 1, value: 2 } as const
const STREAM_NAME = 3
const TIMESTAMP_SECONDS = 1
const ANSWER = { correlation: 1, error: 2, success: 3 } as const
const SUCCESS = { revision: 1, position: 3 } as const
const POSITION = { commit: 1, prepare: 2 } as const

const MS_PER_SECOND = 1_000
const UUID_CHARS = 36
const UUID_BYTES = fieldBytes(UUID_CHARS)
const IS_JSON = mapEntry('content-type', 'application/json')
const IS_FINAL = new MessageWriter(2).number(REQUEST.isFinal, 1).done()

function mapEntry(key: string, value: string): Buffer {
  const bytes = fieldBytes(key.length) + fieldBytes(value.length)
  return new MessageWriter(fieldBytes(bytes))
    .head(EVENT.metadata, bytes)
    .text(MAP.key, key)
    .text(MAP.value, value)
    .done()
}

export function appendMessage(append: AppendMessage): Buffer {
  const options = optionsOf(append)
  const sizes = append.events.map(sizesOf)
  const eventBytes = sizes.reduce((sum, { event }) => sum + fieldBytes(event), 0)
  const bytes = fieldBytes(UUID_BYTES) + fieldBytes(options.length) + eventBytes + IS_FINAL.length
  const writer = new MessageWriter(bytes)
  writer.head(REQUEST.correlation, UUID_BYTES).text(UUID.text, append.correlation, UUID_CHARS)
  writer.head(REQUEST.options, options.length).fields(options)
  for (const [index, event] of append.events.entries()) writeEvent(writer, event, sizes[index] as EventSizes)
  return writer.fields(IS_FINAL).done()
}

function optionsOf({ stream, expectedRevision, deadlineMs }: AppendMessage): Buffer {
  const nameBytes = Buffer.byteLength(stream)
  const seconds = Math.ceil(deadlineMs / MS_PER_SECOND)
  const revisionBytes = expectedRevision === undefined ? fieldBytes(0) : 1 + varintBytes(expectedRevision)
  const deadlineBytes = 1 + varintBytes(seconds)
  const writer = new MessageWriter(fieldBytes(fieldBytes(nameBytes)) + revisionBytes + fieldBytes(deadlineBytes))
  writer.head(OPTIONS.stream, fieldBytes(nameBytes)).text(STREAM_NAME, stream, nameBytes)
  if (expectedRevision === undefined) writer.head(OPTIONS.noStream, 0)
  else writer.number(OPTIONS.revision, expectedRevision)
  return writer.head(OPTIONS.deadline, deadlineBytes).number(TIMESTAMP_SECONDS, seconds).done()
}

/** Sizes in bytes of an event's fields, and of the whole event. */
interface EventSizes {
  readonly type: number
  readonly metadata: number
  readonly data: number
  readonly event: number
}

const TYPE_KEY = 'type'

function sizesOf({ type, metadata, data }: ServerEvent): EventSizes {
  const sizes = {
    type: fieldBytes(TYPE_KEY.length) + fieldBytes(Buffer.byteLength(type)),
    metadata: Buffer.byteLength(metadata),
    data: Buffer.byteLength(data),
  }
  const fields = fieldBytes(sizes.type) + IS_JSON.length + fieldBytes(sizes.metadata) + fieldBytes(sizes.data)
  return { ...sizes, event: fieldBytes(UUID_BYTES) + fields }
}

/** Copies each payload only once. */
function writeEvent(writer: MessageWriter, { id, type, metadata, data }: ServerEvent, sizes: EventSizes): void {
  writer.head(REQUEST.event, sizes.event)
  writer.head(EVENT.id, UUID_BYTES).text(UUID.text, id, UUID_CHARS)
  writer.head(EVENT.metadata, sizes.type).text(MAP.key, TYPE_KEY).text(MAP.value, type).fields(IS_JSON)
  writer.text(EVENT.customMetadata, metadata, sizes.metadata).text(EVENT.data, data, sizes.data)
}

export interface AppendAnswer {
  /** The last 48 bits of the append's UUID; NaN if the answer has none. */
  readonly correlation: number
  /** Absent if the server refused. */
  readonly success?: {
    /** The stream's last revision after the append. */
    readonly revision: number
    readonly position: { readonly commit: bigint; readonly prepare: bigint } | undefined
  }
}

/** Throws `ProtobufError`. */
export function readAppendAnswer(bytes: Buffer): AppendAnswer {
  const reader = new MessageReader(bytes)
  let correlation = Number.NaN
  let success: AppendAnswer['success']
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === ANSWER.correlation) correlation = readUuid(reader.message())
    else if (field === ANSWER.success) success = readSuccess(reader.message())
    else reader.skip()
  }
  return { correlation, ...(success && { success }) }
}

function readSuccess(reader: MessageReader): AppendAnswer['success'] {
  let revision = 0
  let position: { readonly commit: bigint; readonly prepare: bigint } | undefined
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === SUCCESS.revision) revision = reader.number()
    else if (field === SUCCESS.position) position = readPosition(reader.message())
    else reader.skip()
  }
  return { revision, position }
}

function readPosition(reader: MessageReader): { readonly commit: bigint; readonly prepare: bigint } {
  let [commit, prepare] = [0n, 0n]
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === POSITION.commit) commit = reader.bigint()
    else if (field === POSITION.prepare) prepare = reader.bigint()
    else reader.skip()
  }
  return { commit, prepare }
}

const HEX = 16
/** Offset of the last group of digits, which holds 48 bits. */
const LAST_GROUP = 24

/** Reads a UUID in either of the forms that servers use. */
function readUuid(reader: MessageReader): number {
  let found = Number.NaN
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === UUID.text) found = Number.parseInt(reader.text().slice(LAST_GROUP), HEX)
    else if (field === UUID.structured) found = readStructured(reader.message())
    else reader.skip()
  }
  return found
}

function readStructured(reader: MessageReader): number {
  // Protocol Buffers omit a field whose value is zero.
  let low = 0
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === STRUCTURED.leastSignificant) low = reader.low48()
    else reader.skip()
  }
  return low
}
