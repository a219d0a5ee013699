/**
 * @module A record as an event of EventStoreDB and back: the body is the event's data; header, salt and request id are its metadata beside
 * the `$correlationId` and `$causationId` that the server's own tools know. The client prints integer-like keys first, so what
 * comes back is made canonical again: only those bytes agree with what was signed.
 */
import type { JSONEventData, RecordedEvent } from '@eventstore/db-client'
import { type AppendRecord, UUID_PATTERN } from '../../../schemas/header.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { parseStream } from '../../../schemas/names.ts'
import type { Append, ReadRecord } from '../event-store.ts'
import { positionText } from './all-positions.ts'

export type Canonical = (value: Json) => string

/** What the server counts of one append, by default; `maxAppendBytes` leaves room for the metadata around header and salt. */
export const SERVER_APPEND_BYTES = 1_048_576

/**
 * Everything that the client would wait for without end, or the server refuse, is refused here. Throws `TypeError` for texts that are no
 * JSON, `RangeError` for the rest.
 */
export function toEvents({ stream, records }: Append): JSONEventData[] {
  if (stream.startsWith('$')) throw new RangeError(`${stream} is a stream of the server`)
  const correlation = parseStream(stream)?.runId
  const sent = records.map((record) => {
    if (!UUID_PATTERN.test(record.id)) throw new RangeError(`the id ${JSON.stringify(record.id)} is no UUID`)
    if (record.type === '' || record.type.startsWith('$')) throw new RangeError('an event needs a type of its own')
    return { record, metadata: metadataText(record, correlation) }
  })
  const plainBytes = sent.reduce((sum, { record, metadata }) => sum + serverBytes(record, record.data, metadata), 0)
  if (plainBytes > SERVER_APPEND_BYTES) {
    throw new RangeError(`the append has ${plainBytes} bytes on the server, which takes ${SERVER_APPEND_BYTES}`)
  }
  const escaped = sent.map(({ record, metadata }) => ({
    record,
    data: escapeSeparators(record.data),
    metadata: escapeSeparators(metadata),
  }))
  const escapedBytes = escaped.reduce((sum, { record, data, metadata }) => sum + serverBytes(record, data, metadata), 0)
  if (escapedBytes > SERVER_APPEND_BYTES) return sent.map(({ record, metadata }) => plainEvent(record, metadata))
  return escaped.map(({ record, data, metadata }) =>
    data === record.data ? plainEvent(record, metadata) : escapedEvent(record, data, metadata),
  )
}

function serverBytes({ type }: AppendRecord, data: string, metadata: string): number {
  return Buffer.byteLength(metadata) + Buffer.byteLength(data) + 2 * type.length
}

/** Line separators of Unicode: JSON, and no line end there, but the server's projections do not read a string that holds one. */
const LINE_SEPARATORS = /[\u2028\u2029]/g

/** The same JSON. Where it would not fit any more, the run is left unfolded on the server. */
function escapeSeparators(json: string): string {
  return json.replace(LINE_SEPARATORS, (char) => (char === '\u2028' ? '\\u2028' : '\\u2029'))
}

function plainEvent(record: AppendRecord, metadata: string): JSONEventData {
  return { ...eventOf(record, metadata), contentType: 'application/json', data: bodyOf(record) }
}

/**
 * The client prints what it sends as JSON by itself, and takes bytes as they are only for an event that it announces as binary. It reads the
 * content type twice, first to announce it, then to know how to send: so it is JSON the first time, and bytes the second.
 */
function escapedEvent(record: AppendRecord, data: string, metadata: string): JSONEventData {
  let reads = 0
  const event = {
    ...eventOf(record, metadata),
    data: bytesOf(data),
    get contentType() {
      reads += 1
      return reads % 2 === 1 ? 'application/json' : 'application/octet-stream'
    },
  }
  return event as unknown as JSONEventData
}

function eventOf({ id, type }: AppendRecord, metadata: string): Pick<JSONEventData, 'id' | 'type' | 'metadata'> {
  return { id, type, metadata: bytesOf(metadata) }
}

/** The client knows bytes by their constructor: a Buffer would be printed as JSON. */
function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text))
}

function bodyOf({ data }: AppendRecord): JSONEventData['data'] {
  return parse(data, 'data') as JSONEventData['data']
}

/** The header's text stands in it as it was signed. */
function metadataText(record: AppendRecord, correlation: string | undefined): string {
  const header = parse(record.header, 'header')
  const causation = isJsonObject(header) ? header.causation : undefined
  const parts = [
    ...(correlation === undefined ? [] : [`"$correlationId":${JSON.stringify(correlation)}`]),
    ...(typeof causation === 'string' ? [`"$causationId":${JSON.stringify(causation)}`] : []),
    `"header":${record.header}`,
    `"salt":"${Buffer.from(record.salt).toString('base64url')}"`,
    ...(record.requestId === undefined ? [] : [`"requestId":${JSON.stringify(record.requestId)}`]),
  ]
  return `{${parts.join(',')}}`
}

function parse(text: string, what: string): Json {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new TypeError(`the ${what} of a record is no JSON`, { cause: error })
  }
}

/** Never throws: an event that is none of ours comes out as a record that no check lets pass. */
export function toRecord(event: RecordedEvent, canonical: Canonical): ReadRecord {
  const metadata = asObject(event.metadata)
  const { header = null, salt, requestId } = metadata
  return {
    position: positionText(event.position ?? { commit: 0n, prepare: 0n }),
    stream: event.streamId,
    revision: Number(event.revision),
    header: textOf(header, canonical),
    salt: typeof salt === 'string' ? Uint8Array.from(Buffer.from(salt, 'base64url')) : new Uint8Array(0),
    data: event.isJson
      ? textOf(event.data as Json, canonical)
      : JSON.stringify(Buffer.from(event.data).toString('base64url')),
    ...(typeof requestId === 'string' && { requestId }),
  }
}

/** Copies of header fields that stand beside the header and say something else. */
export function differingCopies(event: RecordedEvent): readonly string[] {
  const metadata = asObject(event.metadata)
  const header = asObject(metadata.header)
  const copies: readonly (readonly [string, unknown, unknown])[] = [
    ['id', event.id, header.id],
    ['type', event.type, header.type],
    ['$causationId', metadata.$causationId, header.causation],
    ['$correlationId', metadata.$correlationId, parseStream(event.streamId)?.runId],
    ['requestId', metadata.requestId, asObject(header.request).id],
  ]
  return copies.filter(([, copy, own]) => copy !== own).map(([name]) => name)
}

function asObject(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array)
    ? (value as JsonObject)
    : {}
}

function textOf(value: Json, canonical: Canonical): string {
  try {
    return canonical(value)
  } catch {
    return anyText(value)
  }
}

/** Half of a surrogate pair, a number without end, thousands of brackets: whoever wrote it was not us. */
function anyText(value: Json): string {
  try {
    return JSON.stringify(value)
  } catch {
    return '"too deep to be printed"'
  }
}
