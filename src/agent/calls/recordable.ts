/** @module Values as the record keeps them: what `JSON.stringify` makes of them, judged by the ledger's own parser. */
import type { Json } from '../../../schemas/json.ts'
import { JSON_MAX_BYTES, parseStrictText } from '../../signing/strict-json.ts'

export type Recordable = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly reason: string }

/** A body has a few levels of its own around the value. */
const VALUE_MAX_DEPTH = 60
/** Room for the rest of the request that carries the value. */
const AROUND_BYTES = 16 * 1024

/** Undefined members are dropped, `toJSON` is called, nothing at all is null: live and recorded values are the same. */
export function recordable(value: unknown): Recordable {
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (error) {
    return { ok: false, reason: error instanceof Error ? error.message : String(error) }
  }
  if (text === undefined || text === 'null') return { ok: true, value: null }
  const bytes = Buffer.byteLength(text)
  const maxBytes = JSON_MAX_BYTES - AROUND_BYTES
  if (bytes > maxBytes) return { ok: false, reason: `${bytes} bytes, at most ${maxBytes} can be recorded` }
  const parsed = parseStrictText(text, { maxDepth: VALUE_MAX_DEPTH })
  return parsed.ok ? parsed : { ok: false, reason: parsed.error.message }
}
