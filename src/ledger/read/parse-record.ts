/** @module Parses a stored record for folding; its bytes are verified separately, before or afterwards. */

import { Buffer } from 'node:buffer'
import { canFold } from '../../../projections/body-versions.ts'
import type { RecordedEvent } from '../../../projections/projection.ts'
import { isOfSchema } from '../../../schemas/compiled-schema.ts'
import { declarationOf, isRunEventType } from '../../../schemas/events.ts'
import { HEADER_VERSION, type Header } from '../../../schemas/header.ts'
import { isJsonObject, type Json, type JsonObject, parseJson } from '../../../schemas/json.ts'
import { parseStream } from '../../../schemas/names.ts'
import { isCanonicalJson } from '../../signing/canonical-scan.ts'
import { BODY_MAX_DEPTH } from '../../signing/check.ts'
import { recordDigest } from '../../signing/digests.ts'
import { archiveMissing } from '../../store/archive-missing-error.ts'
import type { ReadRecord } from '../../store/event-store.ts'
import type { LedgerEvent } from '../ledger-event.ts'

/** The event of a verified record. Throws `TypeError` for a type or a body version that this build does not know. */
export function recordedEvent(header: Header, dataText: string): RecordedEvent {
  const data = parseJson(dataText) as { v?: unknown }
  if (!isRunEventType(header.type))
    throw new TypeError(`unknown event type ${header.type}: this build is too old for the store`)
  if (!canFold(header.type, data.v))
    throw new TypeError(`unknown version of ${header.type}: this build is too old for the store`)
  return { type: header.type, data, header } as RecordedEvent
}

/** Type of an event whose header is no longer valid JSON, or has members of wrong types: it keeps its place and has no other content. */
const UNREADABLE = 'Unreadable'

/** Results of an earlier check of the record. */
export interface CheckedParts {
  /** The header as parsed by `readHeader`. */
  readonly header?: Header | undefined
  readonly seal?: LedgerEvent['seal']
}

/**
 * Header and body as far as they can be parsed. An event whose stored text was damaged keeps its place in every list and export: a text that cannot
 * be parsed is shown as a JSON string, which no seal matches. The body is parsed on first access; an export that only copies the text just makes sure
 * that it is the text of an object.
 */
export function ledgerEvent(record: ReadRecord): LedgerEvent {
  return checkedEvent(record, {})
}

/** The event of a record that was checked, with the results of the check. */
export function checkedEvent(record: ReadRecord, checked: CheckedParts): LedgerEvent {
  return new ReadEvent(record, checked)
}

/** A body that is in an archive which is elsewhere throws `ArchiveMissingError` where it is read; the header can be read all the same. */
function bodyIn({ archive, data }: ReadRecord): string {
  if (archive?.exists === false) throw archiveMissing(archive)
  return data
}

/** A class, because each object with its own accessors would have its own hidden class, which lives until the next full garbage collection. */
class ReadEvent implements LedgerEvent {
  readonly position: ReadRecord['position']
  readonly header: Header
  readonly seal?: 'valid' | 'invalid'
  readonly #record: ReadRecord
  /** Whether the header was parsed from its text. */
  readonly #isHeaderRead: boolean
  #parsed: JsonObject | null | undefined
  #texts: LedgerEvent['texts'] | undefined
  #digest: string | undefined

  constructor(record: ReadRecord, { header, seal }: CheckedParts) {
    const parsed = header === undefined ? parsedObject(record.header) : undefined
    this.position = record.position
    this.header = header ?? headerOf(record, parsed)
    if (seal !== undefined) this.seal = seal
    this.#record = record
    this.#isHeaderRead = header !== undefined || parsed !== undefined
  }

  /** Lazy, because most export formats contain no digest. */
  get digest(): string {
    this.#digest ??= recordDigest(this.#record.header)
    return this.#digest
  }

  /** Empty if the stored text is not that of an object. */
  get data(): JsonObject {
    return this.#object() ?? {}
  }

  get headerText(): string {
    const { header } = this.#record
    return this.#isHeaderRead ? header : JSON.stringify(header)
  }

  get texts(): LedgerEvent['texts'] {
    const { salt } = this.#record
    bodyIn(this.#record)
    this.#texts ??= {
      header: this.headerText,
      salt: Buffer.from(salt).toString('base64url'),
      data: this.#dataText(),
    }
    return this.#texts
  }

  /** A body that has not been parsed yet is not parsed for its text either; a body with a valid seal was sealed as canonical text. */
  #dataText(): string {
    const { data } = this.#record
    if (this.seal === 'valid' && data.startsWith('{')) return data
    const isCanonical = this.#parsed === undefined && data.startsWith('{') && isCanonicalJson(data, BODY_MAX_DEPTH)
    return isCanonical || this.#object() !== null ? data : JSON.stringify(data)
  }

  #object(): JsonObject | null {
    if (this.#parsed === undefined) this.#parsed = parsedObject(bodyIn(this.#record)) ?? null
    return this.#parsed
  }
}

/** Header and body of a record without their texts, for callers that need no more. */
export function decodeRecord(record: ReadRecord): Pick<LedgerEvent, 'header' | 'data'> {
  return { header: headerOf(record, parsedObject(record.header)), data: parsedObject(record.data) ?? {} }
}

/**
 * Whether a body matches the schema of its type. Seals guarantee that for the ledger's own events, but others who can write to the store may add
 * records with members of any type. A body that is too deep to be traversed matches no schema.
 */
export function isOfItsType(type: string, data: JsonObject): boolean {
  try {
    const declared = declarationOf(type)
    return declared !== undefined && isOfSchema(declared.schema, data)
  } catch (error) {
    if (error instanceof RangeError) return false
    throw error
  }
}

function headerOf(record: ReadRecord, parsed: JsonObject | undefined): Header {
  return parsed !== undefined && isHeader(parsed) ? parsed : placeHeader(record)
}

/** Checks only the types of the members, so that lists, indexes and exports can process the header. The seal is checked separately. */
function isHeader(header: JsonObject): header is JsonObject & Header {
  const { v, revision, via, request } = header
  if (v !== HEADER_VERSION || !Number.isSafeInteger(revision)) return false
  if (via !== undefined && !(Array.isArray(via) && via.every(isText))) return false
  if (request !== undefined && !isJsonObject(request)) return false
  return TEXTS.every((name) => isText(header[name])) && OPTIONAL_TEXTS.every((name) => isTextOrNone(header[name]))
}

const TEXTS = ['id', 'stream', 'type', 'time', 'tenant', 'actor', 'dataDigest', 'kid', 'mac'] as const
const OPTIONAL_TEXTS = ['clock', 'principal', 'causation', 'traceparent', 'prev'] as const

const isText = (value: Json | undefined): boolean => typeof value === 'string'
const isTextOrNone = (value: Json | undefined): boolean => value === undefined || typeof value === 'string'

function parsedObject(text: string): JsonObject | undefined {
  try {
    const value = parseJson(text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function placeHeader({ stream, revision }: ReadRecord): Header {
  const tenant = parseStream(stream)?.tenant ?? ''
  const unsaid = { id: '', time: '', actor: '', dataDigest: '', kid: '', mac: '' }
  return { v: 1, ...unsaid, stream, revision, type: UNREADABLE, tenant }
}
