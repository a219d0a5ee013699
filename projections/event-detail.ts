/** @module What a list shows of a body: its small members, and of what agents wrote no more than its size. */
import { isJsonObject, type Json, type JsonObject } from '../schemas/json.ts'

const DETAIL_MAX_CHARS = 512
/** What agents and tools wrote: read where it stands, by whoever may. */
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
