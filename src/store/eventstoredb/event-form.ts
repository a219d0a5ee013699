/**
 * @module Converts a record to an event of EventStoreDB and back. The payload is the event's data; header, salt and request id are in its metadata, next
 * to the `$correlationId` and `$causationId` that the server's own tools use. The client parses returned JSON, which moves integer-like keys to the front,
 * so it is canonicalized again: only those bytes match what was signed.
 */

import type { RecordedEvent } from '@eventstore/db-client'
import { type AppendRecord, UUID_PATTERN } from '../../../schemas/header.ts'
import { isJsonObject, type Json, type JsonObject, parseJson } from '../../../schemas/json.ts'
import { parseStream } from '../../../schemas/names.ts'
import type { Append, ReadRecord } from '../event-store.ts'
import { positionText } from './all-positions.ts'
import type { ServerEvent } from './wire/append-message.ts'

export type Canonical = (value: Json) => string

/** The server's default limit for the size of one append; `maxAppendBytes` leaves room for the metadata around header and salt. */
export const SERVER_APPEND_BYTES = 1_048_576

/**
 * Refuses everything that the server would refuse, or accept without an error although it is wrong. Throws `TypeError` for texts that are not JSON,
 * `RangeError` for the rest.
 */
export function toEvents({ stream, records }: Append): ServerEvent[] {
  if (stream.startsWith('$')) throw new RangeError(`${stream} is a stream of the server`)
  const correlation = parseStream(stream)?.runId
  const events = records.map((record) => eventOf(record, correlation))
  refuseTooLarge(events)
  const escaped = events.map(escapedEvent)
  if (escaped.every((event, index) => event === events[index])) return events
  // If the escaped form exceeds the limit, the events are sent unescaped, and server projections cannot fold the run.
  return bytesOf(escaped) > SERVER_APPEND_BYTES ? events : escaped
}

function eventOf(record: AppendRecord, correlation: string | undefined): ServerEvent {
  const { id, type, data, printed } = record
  if (!UUID_PATTERN.test(id)) throw new RangeError(`the id ${JSON.stringify(id)} is no UUID`)
  if (type === '' || type.startsWith('$')) throw new RangeError('an event needs a type of its own')
  if (printed === undefined) parse(data, 'data')
  return { id, type, data, metadata: metadataText(record, correlation) }
}

function refuseTooLarge(events: readonly ServerEvent[]): void {
  // A UTF-16 unit takes at most three bytes of UTF-8: most appends need no exact count.
  if (events.reduce((sum, each) => sum + 3 * unitsOf(each), 0) <= SERVER_APPEND_BYTES) return
  const bytes = bytesOf(events)
  if (bytes <= SERVER_APPEND_BYTES) return
  throw new RangeError(`the append has ${bytes} bytes on the server, which takes ${SERVER_APPEND_BYTES}`)
}

function bytesOf(events: readonly ServerEvent[]): number {
  const size = ({ type, data, metadata }: ServerEvent): number =>
    Buffer.byteLength(metadata) + Buffer.byteLength(data) + 2 * type.length
  return events.reduce((sum, event) => sum + size(event), 0)
}

function unitsOf({ type, data, metadata }: ServerEvent): number {
  return type.length + data.length + metadata.length
}

/** Unicode line separators: in JSON they are not line ends, but the server's projections cannot read a string that contains one. */
const LINE_SEPARATORS = /[\u2028\u2029]/g

/** The same JSON value with escaped line separators. */
function escapedEvent(event: ServerEvent): ServerEvent {
  const [data, metadata] = [escapeSeparators(event.data), escapeSeparators(event.metadata)]
  return data === event.data && metadata === event.metadata ? event : { ...event, data, metadata }
}

function escapeSeparators(json: string): string {
  return json.replace(LINE_SEPARATORS, (char) => (char === '\u2028' ? '\\u2028' : '\\u2029'))
}

/** The header's text is embedded exactly as it was signed. */
function metadataText(record: AppendRecord, correlation: string | undefined): string {
  const { header, salt, requestId } = record
  const { causation } = record.printed ?? { causation: causationOf(header) }
  let text = '{'
  if (correlation !== undefined) text += `"$correlationId":${JSON.stringify(correlation)},`
  if (causation !== undefined) text += `"$causationId":${JSON.stringify(causation)},`
  text += `"header":${header},"salt":"${Buffer.from(salt.buffer, salt.byteOffset, salt.byteLength).toString('base64url')}"`
  if (requestId !== undefined) text += `,"requestId":${JSON.stringify(requestId)}`
  return `${text}}`
}

function causationOf(text: string): string | undefined {
  const header = parse(text, 'header')
  const causation = isJsonObject(header) ? header.causation : undefined
  return typeof causation === 'string' ? causation : undefined
}

function parse(text: string, what: string): Json {
  try {
    return parseJson(text)
  } catch (error) {
    throw new TypeError(`the ${what} of a record is no JSON`, { cause: error })
  }
}

/** Never throws: an event that the ledger did not write becomes a record that fails every check. */
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

/** Names of the header fields whose copies next to the header differ from the header. */
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

/** For values without a canonical form, such as a lone surrogate, a non-finite number or thousands of nested brackets: the ledger did not write them. */
function anyText(value: Json): string {
  try {
    return JSON.stringify(value)
  } catch {
    return '"too deep to be printed"'
  }
}
