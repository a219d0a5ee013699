/** @module A stored record, read for folding: the bytes were checked before, or are checked beside it. */

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

/** Type of an event whose header is no JSON any more, or whose members are of other types: it has its place, and says nothing else. */
const UNREADABLE = 'Unreadable'

/** What a check of the record has found out of it already. */
export interface CheckedParts {
  /** As `readHeader` read it. */
  readonly header?: Header | undefined
  readonly seal?: LedgerEvent['seal']
}

/**
 * Header and body as far as they can be read. An event whose stored text was damaged keeps its place in every list and export: what
 * cannot be parsed is shown as a JSON string of that text, which no seal fits. A body is parsed when it is first looked at: an export that
 * carries its text alone only makes sure that it is an object's.
 */
export function ledgerEvent(record: ReadRecord): LedgerEvent {
  return checkedEvent(record, {})
}

/** The same of a record that was checked. */
export function checkedEvent(record: ReadRecord, checked: CheckedParts): LedgerEvent {
  return new ReadEvent(record, checked)
}

/** A class, since an object with accessors of its own has a hidden class of its own, which lives until the next full collection. */
class ReadEvent implements LedgerEvent {
  readonly position: ReadRecord['position']
  readonly header: Header
  readonly seal?: 'valid' | 'invalid'
  readonly #record: ReadRecord
  /** The header is what its text says. */
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

  /** Most formats of exports name no digest. */
  get digest(): string {
    this.#digest ??= recordDigest(this.#record.header)
    return this.#digest
  }

  /** Empty where the stored text is no object's. */
  get data(): JsonObject {
    return this.#object() ?? {}
  }

  get headerText(): string {
    const { header } = this.#record
    return this.#isHeaderRead ? header : JSON.stringify(header)
  }

  get texts(): LedgerEvent['texts'] {
    const { salt } = this.#record
    this.#texts ??= {
      header: this.headerText,
      salt: Buffer.from(salt).toString('base64url'),
      data: this.#dataText(),
    }
    return this.#texts
  }

  /** One that nobody has parsed yet is not parsed for its text either, and what fits its seal was sealed as canonical text. */
  #dataText(): string {
    const { data } = this.#record
    if (this.seal === 'valid' && data.startsWith('{')) return data
    const isCanonical = this.#parsed === undefined && data.startsWith('{') && isCanonicalJson(data, BODY_MAX_DEPTH)
    return isCanonical || this.#object() !== null ? data : JSON.stringify(data)
  }

  #object(): JsonObject | null {
    if (this.#parsed === undefined) this.#parsed = parsedObject(this.#record.data) ?? null
    return this.#parsed
  }
}

/** The same without the texts: for whoever only counts what events say. */
export function decodeRecord(record: ReadRecord): Pick<LedgerEvent, 'header' | 'data'> {
  return { header: headerOf(record, parsedObject(record.header)), data: parsedObject(record.data) ?? {} }
}

/**
 * Whether a body is of its type. Seals say so of the ledger's own; whoever may write to the store can add a record whose members are of
 * any type. A body that is too deep to be walked is of none.
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

/** By the types of its members alone: what lists, indexes and exports do with them works then. The seal is checked beside this. */
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
