/** @module Which values are stored beside the events, and which are not taken at all. */
import { INLINE_CEILING_BYTES, VALUE_CEILING_BYTES, VALUE_MAX_BYTES } from '../../../schemas/value-forms.ts'

/** Bytes of canonical text. */
export interface ValueLimits {
  /** Up to this a value is in its event. Default 64 KiB. */
  readonly inlineMaxBytes: number
  /** Beyond this a value is refused. Default 8 MiB, at most 64 MiB. */
  readonly maxBytes: number
}

const VALUE_LIMITS: ValueLimits = { inlineMaxBytes: 64 * 1024, maxBytes: VALUE_MAX_BYTES }

export function valueLimits({ inlineMaxBytes, maxBytes }: Partial<ValueLimits> = {}): ValueLimits {
  return {
    inlineMaxBytes: Math.min(inlineMaxBytes ?? VALUE_LIMITS.inlineMaxBytes, INLINE_CEILING_BYTES),
    maxBytes: Math.min(maxBytes ?? VALUE_LIMITS.maxBytes, VALUE_CEILING_BYTES),
  }
}
