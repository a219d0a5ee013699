/** @module Values as the record keeps them: what `JSON.stringify` makes of them, judged by the ledger's own parser. */
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
  /** `path`: a JSON pointer to the part that is at fault, where one part is. */
  | { readonly ok: false; readonly reason: string; readonly path?: string; readonly tooLarge?: true }

/** A body has a few levels of its own around the value. */
const VALUE_MAX_DEPTH = 60
/** Room for the rest of the request that carries the value. */
const AROUND_BYTES = 16 * 1024

/** What a value of a call may hold: the ledger itself says what it takes. */
export const CALL_VALUE = { maxBytes: VALUE_CEILING_BYTES, maxKeys: 1_600_000 } as const

/**
 * What a tool or an agent gave: undefined members are dropped, `toJSON` is called, nothing at all is null, members are in canonical order, so that live and
 * recorded values are the same. A value whose content would vanish is refused. Without codecs it is JSON that nobody decodes.
 */
export function recordable(value: unknown, codecs?: Codecs, limits: ValueLimits = {}): Recordable {
  return recorded(value, { codecs, faultOf: vanishingFault, ...limits })
}

/** What identifies a call or a run: refused wherever its JSON form would be that of another value as well. */
export function identifying(value: unknown, codecs?: Codecs, limits: ValueLimits = {}): Recordable {
  return recorded(value, { codecs, faultOf: plainFault, ...limits })
}

interface ValueLimits {
  /** Default: what any body may hold. */
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
    // Without a codec only what looks like the work of one is to be told apart from it.
    const looksEncoded = codecs?.isEmpty === true && text.includes(CODEC_TAG_TEXT)
    return { ok: true, value: inCanonicalOrder((looksEncoded ? codecs.encode(parsed.value) : parsed.value) as Json) }
  }
  const tooLarge = parsed.error.code === 'json-too-large'
  return { ok: false, reason: parsed.error.message, ...(tooLarge && { tooLarge }) }
}
