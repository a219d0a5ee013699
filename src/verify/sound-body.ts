/**
 * @module Checks that a body is canonical and fits the schema of its type, without parsing the members that the schema leaves free: payloads, arguments and
 * results are most of a body, and for them a schema requires at most that they exist or are objects.
 */

import { knowsBody } from '../../projections/body-versions.ts'
import { isOfSchema } from '../../schemas/compiled-schema.ts'
import { declarationOf } from '../../schemas/events.ts'
import type { RecordBytes } from '../../schemas/header.ts'
import { isJsonObject, parseJsonOrUndefined } from '../../schemas/json.ts'
import { JsonRecord, JsonValue } from '../../schemas/values.ts'
import { canonicalMembers, isCanonicalJson } from '../signing/canonical-scan.ts'
import { BODY_MAX_DEPTH } from '../signing/check.ts'
import type { PlacedRecord } from './source-item.ts'

/** Parsing a shorter value costs less than leaving it out. */
const FREE_MIN_BYTES = 64
const OPEN_OBJECT = 0x7b
const PLACES = 3

/** Substitutes for a value that is left out; an object is replaced by an object. */
const EMPTY_OBJECT = '{}'
const ANY_VALUE = '0'

/** False makes no statement about the body: it must then be parsed and judged as a whole. */
export function isSoundBody(type: string, record: PlacedRecord): boolean {
  const { bytes } = record
  if (bytes === undefined) return isCanonicalJson(record.data, BODY_MAX_DEPTH) && fits(type, record.data)
  const members = canonicalMembers(bytes.block, bytes.data, bytes.dataEnd, BODY_MAX_DEPTH)
  return members !== undefined && fits(type, withoutFree(bytes, members, freeNames(type)))
}

function fits(type: string, text: string): boolean {
  const schema = declarationOf(type)?.schema
  const body = parseJsonOrUndefined(text)
  return schema !== undefined && isJsonObject(body) && knowsBody(type, body.v) && isOfSchema(schema, body)
}

/** The text of a body in which long free members are replaced by short substitutes. */
function withoutFree(bytes: RecordBytes, members: readonly number[], free: readonly Buffer[]): string {
  const { block, data, dataEnd, isAscii } = bytes
  const encoding = isAscii ? 'latin1' : 'utf8'
  let text = ''
  let from = data
  for (let member = 0; member < members.length; member += PLACES) {
    const [name = 0, nameEnd = 0, end = 0] = [members[member], members[member + 1], members[member + 2]]
    if (end - nameEnd < FREE_MIN_BYTES || !free.some((each) => isAt(each, block, name, nameEnd))) continue
    text += block.toString(encoding, from, nameEnd + 1)
    text += block[nameEnd + 1] === OPEN_OBJECT ? EMPTY_OBJECT : ANY_VALUE
    from = end
  }
  return text + block.toString(encoding, from, dataEnd)
}

function isAt(name: Buffer, block: Buffer, from: number, to: number): boolean {
  if (to - from !== name.length) return false
  for (let at = 0; at < name.length; at += 1) if (block[from + at] !== name[at]) return false
  return true
}

const namesBefore = new Map<string, readonly Buffer[]>()

/** Names of the members that may have any value, or be any object: quoted, as they appear in a body. */
function freeNames(type: string): readonly Buffer[] {
  const known = namesBefore.get(type)
  if (known !== undefined) return known
  const names = freeMembers(type).map((name) => Buffer.from(JSON.stringify(name)))
  namesBefore.set(type, names)
  return names
}

/** Members of a type's body that its schema leaves free. */
export function freeMembers(type: string): readonly string[] {
  const shape = declarationOf(type)?.schema.shape ?? {}
  return Object.keys(shape).filter((name) => isFree(shape[name]))
}

function isFree(schema: unknown): boolean {
  const inner = (schema as { readonly _zod: { readonly def: { readonly innerType?: unknown } } })._zod.def.innerType
  return [schema, inner].some((each) => each === JsonValue || each === JsonRecord)
}
