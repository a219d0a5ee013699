/** @module Keyed digests of redacted values (RUN-96): equal values have equal digests, but without the key no value can be guessed by trial. */
import { createHmac, hkdfSync } from 'node:crypto'
import { canonicalJson } from './canonical-json.ts'

const KEY_INFO = 'countersign/redaction-key/v1\n'
const CALL_INFO = 'countersign/redaction-call-key/v1\n'
const KEY_BYTES = 32
const VALUE_PREFIX = 'countersign/redacted/v1\n'
const CALL_PREFIX = 'countersign/redacted-call/v1\n'

/** The two keys of a stream for keyed digests. Each is derived on first use, because most commands redact nothing. */
export interface BlindKey {
  /** Key for values, arguments and requests. */
  readonly values: Uint8Array
  /** Key for the digests of call keys. Clients that may write to the run receive this key, so that a resume finds its calls. */
  readonly calls: Uint8Array
}

/**
 * The keys of one stream. Unlike run keys they are never disclosed. They derive from the ring's first key, so that a value keeps its digest
 * after a rotation.
 */
export function deriveBlindKey(secret: Uint8Array, tenant: string, stream: string): BlindKey {
  const place = canonicalJson([tenant, stream])
  const derive = (info: string): Uint8Array => new Uint8Array(hkdfSync('sha256', secret, '', info + place, KEY_BYTES))
  let [values, calls]: (Uint8Array | undefined)[] = []
  return {
    get values() {
      values ??= derive(KEY_INFO)
      return values
    },
    get calls() {
      calls ??= derive(CALL_INFO)
      return calls
    },
  }
}

/** `sha256:` and the HMAC-SHA-256 of a text, in the form of a digest so that it can replace one. */
export function blindValue(key: Uint8Array, text: string): string {
  return blinded(key, VALUE_PREFIX + text)
}

/** The digest recorded in place of a call key whose arguments were redacted. */
export function blindCallKey(key: Uint8Array, callKey: string): string {
  return blinded(key, CALL_PREFIX + callKey)
}

function blinded(key: Uint8Array, text: string): string {
  return `sha256:${createHmac('sha256', key).update(text).digest('hex')}`
}
