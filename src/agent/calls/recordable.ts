/** @module Converts values to their recorded form: the result of `JSON.stringify`, checked by the ledger's own parser. */
import type { Json } from '../../../schemas/json.ts'
import { VALUE_CEILING_BYTES } from '../../../schemas/value-forms.ts'
import { inCanonicalOrder } from '../../signing/canonical-json.ts'
import { JSON_MAX_BYTES, parseStrictText } from '../../signing/strict-json.ts'
import { thrownText } from '../thrown.ts'
import type { Codecs } from './codecs.ts'
import { plainFault, type ValueFault, vanishingFault } from './plain-value.ts'

const CODEC_TAG_TEXT = '"$codec"'

export type Recordable =
  | { readonly ok: true; readonly value: Json }
  /** `path`: JSON pointer to the faulty part, if there is one. */
  | { readonly ok: false; readonly reason: string; readonly path?: string; readonly tooLarge?: true }

/** Leaves room for the levels of the body around the value. */
const VALUE_MAX_DEPTH = 60
/** Reserved for the rest of the request that carries the value. */
const AROUND_BYTES = 16 * 1024

/** Upper bounds for a value of a call; the ledger enforces its own limits. */
export const CALL_VALUE = { maxBytes: VALUE_CEILING_BYTES, maxKeys: 1_600_000 } as const

/**
 * The recorded form of a result of a tool or an agent: undefined members are dropped, `toJSON` is called, undefined becomes null, members are in canonical
 * order, so that live and recorded values are equal. A value whose content would be lost is refused. Without codecs, the result is JSON that is never decoded.
 */
export function recordable(value: unknown, codecs?: Codecs, limits: ValueLimits = {}): Recordable {
  return recorded(value, { codecs, faultOf: vanishingFault, ...limits })
}

/** The recorded form of a value that identifies a call or a run. It is refused if another value has the same JSON form. */
export function identifying(value: unknown, codecs?: Codecs, limits: ValueLimits = {}): Recordable {
  return recorded(value, { codecs, faultOf: plainFault, ...limits })
}

interface ValueLimits {
  /** Default: the limit of a request body. */
  readonly maxBytes?: number
  readonly maxKeys?: number
}

interface Rules extends ValueLimits {
  readonly codecs: Codecs | undefined
  readonly faultOf: (value: unknown) => ValueFault | undefined
}

function recorded(value: unknown, rules: Rules): Recordable {
  const { codecs, faultOf, maxBytes = JSON_MAX_BYTES - AROUND_BYTES, maxKeys } = rules
  let text: string | undefined
  try {
    const encoded = codecs === undefined || codecs.isEmpty ? value : codecs.encode(value)
    const fault = faultOf(encoded)
    if (fault !== undefined) return { ok: false, reason: `${fault.path || 'it'} is ${fault.reason}`, path: fault.path }
    text = JSON.stringify(encoded)
  } catch (error) {
    return { ok: false, reason: thrownText(error) }
  }
  if (text === undefined || text === 'null') return { ok: true, value: null }
  const bytes = Buffer.byteLength(text)
  if (bytes > maxBytes)
    return { ok: false, reason: `${bytes} bytes, at most ${maxBytes} can be recorded`, tooLarge: true }
  const parsed = parseStrictText(text, { maxDepth: VALUE_MAX_DEPTH, ...(maxKeys !== undefined && { maxKeys }) })
  if (parsed.ok) {
    // Without codecs, an object that looks like an encoded value must still be escaped.
    const looksEncoded = codecs?.isEmpty === true && text.includes(CODEC_TAG_TEXT)
    return { ok: true, value: inCanonicalOrder((looksEncoded ? codecs.encode(parsed.value) : parsed.value) as Json) }
  }
  const tooLarge = parsed.error.code === 'json-too-large'
  return { ok: false, reason: parsed.error.message, ...(tooLarge && { tooLarge }) }
}
