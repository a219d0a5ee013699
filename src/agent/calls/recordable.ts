/** @module Values as the record keeps them: what `JSON.stringify` makes of them, judged by the ledger's own parser. */
import type { Json } from '../../../schemas/json.ts'
import { JSON_MAX_BYTES, parseStrictText } from '../../signing/strict-json.ts'
import { Codecs } from './codecs.ts'
import { plainFault, type ValueFault, vanishingFault } from './plain-value.ts'

export type Recordable =
  | { readonly ok: true; readonly value: Json }
  /** `path`: a JSON pointer to the part that is at fault, where one part is. */
  | { readonly ok: false; readonly reason: string; readonly path?: string }

/** A body has a few levels of its own around the value. */
const VALUE_MAX_DEPTH = 60
/** Room for the rest of the request that carries the value. */
const AROUND_BYTES = 16 * 1024

const NO_CODECS = new Codecs()

/**
 * What a tool or an agent gave: undefined members are dropped, `toJSON` is called, nothing at all is null, so that live and recorded values are
 * the same. A value whose content would vanish is refused.
 */
export function recordable(value: unknown, codecs = NO_CODECS): Recordable {
  return recorded(value, { codecs, faultOf: vanishingFault })
}

/** What identifies a call or a run: refused wherever its JSON form would be that of another value as well. */
export function identifying(value: unknown, codecs = NO_CODECS): Recordable {
  return recorded(value, { codecs, faultOf: plainFault })
}

interface Rules {
  readonly codecs: Codecs
  readonly faultOf: (value: unknown) => ValueFault | undefined
}

function recorded(value: unknown, { codecs, faultOf }: Rules): Recordable {
  let text: string | undefined
  try {
    const encoded = codecs.encode(value)
    const fault = faultOf(encoded)
    if (fault !== undefined) return { ok: false, reason: `${fault.path || 'it'} is ${fault.reason}`, path: fault.path }
    text = JSON.stringify(encoded)
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
