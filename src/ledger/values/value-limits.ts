/** @module The limits above which values are stored apart from the events, or refused. */
import { INLINE_CEILING_BYTES, VALUE_CEILING_BYTES, VALUE_MAX_BYTES } from '../../../schemas/value-forms.ts'

/** Sizes in bytes of canonical text. */
export interface ValueLimits {
  /** Up to this size a value is stored in its event. Default 64 KiB. */
  readonly inlineMaxBytes: number
  /** A larger value is refused. Default 8 MiB, at most 64 MiB. */
  readonly maxBytes: number
}

const VALUE_LIMITS: ValueLimits = { inlineMaxBytes: 64 * 1024, maxBytes: VALUE_MAX_BYTES }

export function valueLimits({ inlineMaxBytes, maxBytes }: Partial<ValueLimits> = {}): ValueLimits {
  return {
    inlineMaxBytes: Math.min(inlineMaxBytes ?? VALUE_LIMITS.inlineMaxBytes, INLINE_CEILING_BYTES),
    maxBytes: Math.min(maxBytes ?? VALUE_LIMITS.maxBytes, VALUE_CEILING_BYTES),
  }
}
