/** @module Splits a large value into the parts that are stored: pieces of its text, its salt, and the digest that identifies it. Pure functions. */
import { createHmac } from 'node:crypto'
import type { EventBody } from '../../../schemas/events.ts'
import type { ValueRef } from '../../../schemas/values.ts'
import { dataDigest, type MacKey, sha256 } from '../../signing/digests.ts'

/** UTF-16 code units per part: at worst six bytes each when escaped, so that a part fits an append of every store. */
const PART_CHARS = 128 * 1024
const SALT_BYTES = 16
const SALT_PREFIX = 'countersign/value-salt/v1\n'

export const JSON_MEDIA_TYPE = 'application/json'

export interface SaltedValue {
  readonly ref: ValueRef
  readonly salt: Uint8Array
}

/**
 * The salt is derived from the text with the key of the run: equal values of a run have the same digest, and without the key or the salt a value
 * cannot be guessed from its digest.
 */
export function salted(text: string, key: MacKey): SaltedValue {
  const mac = createHmac('sha256', key).update(SALT_PREFIX).update(sha256(text)).digest()
  const salt = mac.subarray(0, SALT_BYTES)
  const bytes = Buffer.byteLength(text)
  return { ref: { digest: dataDigest(salt, text), bytes, mediaType: JSON_MEDIA_TYPE }, salt }
}

/** Bodies of the events that hold the value, in order. */
export function valueParts(run: string, text: string, { ref, salt }: SaltedValue): EventBody<'ValueStored'>[] {
  const { digest, bytes, mediaType } = ref
  const texts = cut(text)
  const whole = { v: 1, run, digest, bytes, mediaType, salt: Buffer.from(salt).toString('base64url') } as const
  return texts.map((part, index) => ({ ...whole, part: index, parts: texts.length, text: part }))
}

/** Never cuts a surrogate pair, so that each part is a valid text. */
function cut(text: string): string[] {
  const parts: string[] = []
  for (let from = 0; from < text.length; ) {
    let to = Math.min(from + PART_CHARS, text.length)
    const last = text.charCodeAt(to - 1)
    if (to < text.length && last >= 0xd800 && last <= 0xdbff) to -= 1
    parts.push(text.slice(from, to))
    from = to
  }
  return parts.length === 0 ? [''] : parts
}

/** The fault in the bodies of a value's events (all of them, in order); undefined if they form the value. */
export function partsFault(parts: readonly EventBody<'ValueStored'>[], digest: string): string | undefined {
  const [first] = parts
  if (first === undefined || parts.length < first.parts) return `only ${parts.length} of its parts are there`
  const isMixed = parts.some((part, index) => part.part !== index || part.digest !== digest || part.salt !== first.salt)
  const text = parts.map((part) => part.text).join('')
  if (isMixed || parts.length !== first.parts || Buffer.byteLength(text) !== first.bytes)
    return 'its parts do not belong together'
  return dataDigest(Buffer.from(first.salt, 'base64url'), text) === digest ? undefined : 'its text has another digest'
}
