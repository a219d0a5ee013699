/** @module Reads a stored header, whose text must be the JCS form of a header that this build knows. */

import {
  HEADER_MAX_BYTES,
  HEADER_VERSION,
  type Header,
  MAC_PATTERN,
  TIME_PATTERN,
  UUID_PATTERN,
  VIA_MAX,
} from '../../schemas/header.ts'
import { isJsonObject, type Json, type JsonObject, parseJson } from '../../schemas/json.ts'
import { DIGEST_PATTERN } from '../../schemas/names.ts'
import { NAME_MAX_CHARS, TRACEPARENT_PATTERN } from '../../schemas/value-forms.ts'
import { canonicalJson } from './canonical-json.ts'
import { type ReadHeader, readPlainHeader } from './plain-header.ts'
import { type HeaderParts, headerParts, sealedText } from './seal.ts'

export interface HeaderFault {
  readonly ok: false
  readonly code: 'header-not-json' | 'header-not-canonical' | 'header-schema' | 'unknown-version'
  readonly message: string
}

/** Reads a header's text without trusting it. */
export function readHeader(text: string): ReadHeader | HeaderFault {
  return readPlainHeader(text) ?? readAnyHeader(text)
}

/** Reads any header: serialising the parsed fields must give the same text, which excludes unknown keys, repeated keys and other spellings. */
export function readAnyHeader(text: string): ReadHeader | HeaderFault {
  if (text.length > HEADER_MAX_BYTES || Buffer.byteLength(text) > HEADER_MAX_BYTES) {
    return fault('header-schema', `the header is longer than ${HEADER_MAX_BYTES} bytes`)
  }
  const value = parse(text)
  if (value === undefined) return fault('header-not-json', 'the header is not JSON')
  if (!isJsonObject(value)) return fault('header-schema', 'the header is not an object')
  if (typeof value.v === 'number' && value.v !== HEADER_VERSION) {
    return fault('unknown-version', `the header has version ${value.v}, this build knows ${HEADER_VERSION}`)
  }
  const wrong = wrongField(value)
  if (wrong !== undefined)
    return misshapen(text, value, `the header field ${wrong} is missing or not as the schema has it`)

  const header = value as unknown as Header
  const parts = partsOf(header)
  if (parts !== undefined && sealedText(parts, header.mac) === text) return { ok: true, header, parts }
  return misshapen(text, value, 'the header has a field that the schema does not know')
}

function parse(text: string): Json | undefined {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

function partsOf(header: Header): HeaderParts | undefined {
  try {
    return headerParts(header)
  } catch {
    return undefined
  }
}

/** A text that is not canonical is reported as such first, because parsing may have dropped part of it. */
function misshapen(text: string, value: Json, message: string): HeaderFault {
  let canonical = false
  try {
    canonical = canonicalJson(value) === text
  } catch {
    // A lone surrogate, or nesting beyond the stack: neither has a canonical form.
  }
  return canonical
    ? fault('header-schema', message)
    : fault('header-not-canonical', 'the header is not in canonical form')
}

function fault(code: HeaderFault['code'], message: string): HeaderFault {
  return { ok: false, code, message }
}

type FieldCheck = (value: Json | undefined) => boolean

const matches =
  (pattern: RegExp): FieldCheck =>
  (value) =>
    typeof value === 'string' && pattern.test(value)

const isText: FieldCheck = (value) => typeof value === 'string' && value.length > 0 && value.length <= NAME_MAX_CHARS
const isUuid = matches(UUID_PATTERN)
const isTime = matches(TIME_PATTERN)
const isDigest = matches(DIGEST_PATTERN)
const isMac = matches(MAC_PATTERN)

const optional =
  (check: FieldCheck): FieldCheck =>
  (value) =>
    value === undefined || check(value)

/**
 * The zod schema `Header`, written by hand: it runs for each event of a verification, where zod would take half of the time. A test checks
 * that the two agree.
 */
const FIELDS: readonly (readonly [field: string, check: FieldCheck])[] = [
  ['v', (value) => value === HEADER_VERSION],
  ['id', isUuid],
  ['stream', isText],
  ['revision', (value) => Number.isSafeInteger(value) && (value as number) >= 0],
  ['type', matches(/^[A-Z][A-Za-z]{0,63}$/)],
  ['time', isTime],
  ['clock', optional(isTime)],
  ['tenant', (value) => isText(value) && (value as string).length <= 63],
  ['actor', isText],
  ['principal', optional(isText)],
  [
    'via',
    optional((value) => Array.isArray(value) && value.length > 0 && value.length <= VIA_MAX && value.every(isText)),
  ],
  ['causation', optional(isUuid)],
  ['traceparent', optional(matches(TRACEPARENT_PATTERN))],
  ['request', optional((value) => isJsonObject(value) && isUuid(value.id) && isMac(value.mac))],
  ['dataDigest', isDigest],
  ['prev', optional(isDigest)],
  ['kid', isText],
  ['mac', isMac],
]

function wrongField(header: JsonObject): string | undefined {
  return FIELDS.find(([field, check]) => !check(header[field]))?.[0]
}
