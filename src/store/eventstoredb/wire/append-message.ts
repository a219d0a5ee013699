/**
 * @module BatchAppend of EventStoreDB's `streams.proto`: the message of an append, and that of its answer. Data and metadata go as the very bytes
 * that were signed: the client would parse them, and print them in another order.
 */
import { lengthField, lengthHead, MessageReader, varintField } from './protobuf.ts'

/** An event as the server takes it; `data` and `metadata` are JSON. */
export interface ServerEvent {
  readonly id: string
  readonly type: string
  readonly data: Buffer
  readonly metadata: Buffer
}

export interface AppendMessage {
  /** A UUID that comes back with the answer. */
  readonly correlation: string
  readonly stream: string
  /** `undefined`: the stream must not exist. */
  readonly expectedRevision: number | undefined
  /** Until when the server may take it; milliseconds since 1970, by this machine's clock. */
  readonly deadlineMs: number
  readonly events: readonly ServerEvent[]
}

/** Numbers of fields, by message. */
const REQUEST = { correlation: 1, options: 2, event: 3, isFinal: 4 } as const
const OPTIONS = { stream: 1, revision: 2, noStream: 3, deadline: 6 } as const
const EVENT = { id: 1, metadata: 2, customMetadata: 3, data: 4 } as const
const UUID = { structured: 1, text: 2 } as const
const STRUCTURED = { mostSignificant: 1, leastSignificant: 2 } as const
const MAP = { key: 1, value: 2 } as const
const STREAM_NAME = 3
const TIMESTAMP_SECONDS = 1
const ANSWER = { correlation: 1, error: 2, success: 3 } as const
const SUCCESS = { revision: 1, position: 3 } as const
const POSITION = { commit: 1, prepare: 2 } as const

const MS_PER_SECOND = 1_000
const NOTHING = Buffer.alloc(0)
const IS_JSON = mapEntry('content-type', 'application/json')
const IS_FINAL = varintField(REQUEST.isFinal, 1)

function mapEntry(key: string, value: string): Buffer {
  return lengthField(EVENT.metadata, Buffer.concat([lengthField(MAP.key, key), lengthField(MAP.value, value)]))
}

export function appendMessage(append: AppendMessage): Buffer {
  const parts = [
    lengthField(REQUEST.correlation, lengthField(UUID.text, append.correlation)),
    lengthField(REQUEST.options, optionsOf(append)),
  ]
  for (const event of append.events) pushEvent(parts, event)
  parts.push(IS_FINAL)
  return Buffer.concat(parts)
}

function optionsOf({ stream, expectedRevision, deadlineMs }: AppendMessage): Buffer {
  const deadline = varintField(TIMESTAMP_SECONDS, Math.ceil(deadlineMs / MS_PER_SECOND))
  return Buffer.concat([
    lengthField(OPTIONS.stream, lengthField(STREAM_NAME, stream)),
    expectedRevision === undefined
      ? lengthField(OPTIONS.noStream, NOTHING)
      : varintField(OPTIONS.revision, expectedRevision),
    lengthField(OPTIONS.deadline, deadline),
  ])
}

/** In parts, so that bodies are copied once. */
function pushEvent(parts: Buffer[], { id, type, data, metadata }: ServerEvent): void {
  const head = Buffer.concat([
    lengthField(EVENT.id, lengthField(UUID.text, id)),
    mapEntry('type', type),
    IS_JSON,
    lengthHead(EVENT.customMetadata, metadata.length),
  ])
  const dataHead = lengthHead(EVENT.data, data.length)
  const bytes = head.length + metadata.length + dataHead.length + data.length
  parts.push(lengthHead(REQUEST.event, bytes), head, metadata, dataHead, data)
}

export interface AppendAnswer {
  /** As `correlationKey` writes the UUID of the append. */
  readonly correlation: string
  /** Absent where the server refused. */
  readonly success?: {
    /** The stream's last one now. */
    readonly revision: number
    readonly position: { readonly commit: bigint; readonly prepare: bigint } | undefined
  }
}

/** A UUID without its dashes, whichever way a server writes it. */
export function correlationKey(uuid: string): string {
  return uuid.replaceAll('-', '')
}

/** Throws `ProtobufError`. */
export function readAppendAnswer(bytes: Buffer): AppendAnswer {
  const reader = new MessageReader(bytes)
  let correlation = ''
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

/** Hexadecimal digits without dashes. */
function readUuid(reader: MessageReader): string {
  let uuid = ''
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === UUID.text) uuid = correlationKey(reader.text())
    else if (field === UUID.structured) uuid = readStructured(reader.message())
    else reader.skip()
  }
  return uuid
}

const HALF_DIGITS = 16
const HEX = 16

function readStructured(reader: MessageReader): string {
  let [most, least] = [0n, 0n]
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === STRUCTURED.mostSignificant) most = reader.bigint()
    else if (field === STRUCTURED.leastSignificant) least = reader.bigint()
    else reader.skip()
  }
  return [most, least].map((half) => half.toString(HEX).padStart(HALF_DIGITS, '0')).join('')
}
