/** @module Converts requests and answers to JSON: bytes become base64, errors their name and message; functions are omitted. */

import { type Json, parseJson } from '../../../schemas/json.ts'
import { AgentError } from '../errors.ts'

/** The JSON form of a value. Throws `not-recordable`; `what` names the value in the message. */
export function jsonable(value: unknown, what: string): Json {
  try {
    return parseJson(JSON.stringify(value, plain) ?? 'null')
  } catch (error) {
    throw new AgentError('not-recordable', `${what} is no JSON: ${error instanceof Error ? error.message : error}`)
  }
}

/** `JSON.stringify` has already called `toJSON` of a Buffer; the member itself still holds the bytes. */
function plain(this: unknown, key: string, value: unknown): unknown {
  const raw = (this as Record<string, unknown>)[key]
  if (raw instanceof Uint8Array) return Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString('base64')
  if (raw instanceof Error) return { name: raw.name, message: raw.message }
  return value
}
