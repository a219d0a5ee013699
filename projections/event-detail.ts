/** @module Selects the members of a body that a list shows: small ones, and the length of each list of objects. */
import { isJsonObject, type Json, type JsonObject } from '../schemas/json.ts'

const DETAIL_MAX_CHARS = 512
/** Content written by agents and tools, which a list omits and authorised readers read in the event itself. */
const CONTENT: ReadonlySet<string> = new Set([
  ...['payload', 'args', 'result', 'input', 'output', 'context', 'restored', 'manifest', 'policy', 'evidence'],
  ...['note', 'signature', 'entries', 'snapshot'],
])

export function eventDetail(data: JsonObject): JsonObject {
  const shown = Object.entries(data).flatMap(([name, value]): [string, Json][] => {
    if (name === 'v') return []
    if (Array.isArray(value) && value.some((item) => isJsonObject(item))) return [[name, value.length]]
    return !CONTENT.has(name) && JSON.stringify(value).length <= DETAIL_MAX_CHARS ? [[name, value]] : []
  })
  return Object.fromEntries(shown)
}
