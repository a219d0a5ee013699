/** @module Requests and answers as JSON: bytes become base64, errors their name and message, functions are left out. */

import { type Json, parseJson } from '../../../schemas/json.ts'
import { AgentError } from '../errors.ts'

/** Throws `not-recordable`. */
export function jsonable(value: unknown, what: string): Json {
  try {
    return parseJson(JSON.stringify(value, plain) ?? 'null')
  } catch (error) {
    throw new AgentError('not-recordable', `${what} is no JSON: ${error instanceof Error ? error.message : error}`)
  }
}

/** `toJSON` of a Buffer has been called by now: the member itself still has the bytes. */
function plain(this: unknown, key: string, value: unknown): unknown {
  const raw = (this as Record<string, unknown>)[key]
  if (raw instanceof Uint8Array) return Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString('base64')
  if (raw instanceof Error) return { name: raw.name, message: raw.message }
  return value
}
