/** @module Keyed digests of what redaction leaves out (RUN-96): equal values can be told to be equal, and without the key nobody can try values out. */
import { createHmac, hkdfSync } from 'node:crypto'
import { canonicalJson } from './canonical-json.ts'

const KEY_INFO = 'countersign/redaction-key/v1\n'
const CALL_INFO = 'countersign/redaction-call-key/v1\n'
const KEY_BYTES = 32
const VALUE_PREFIX = 'countersign/redacted/v1\n'
const CALL_PREFIX = 'countersign/redacted-call/v1\n'

/** Each half is derived when it is first used: most commands have nothing left out. */
export interface BlindKey {
  /** Of values, arguments and requests. */
  readonly values: Uint8Array
  /** Of the keys of calls: whoever may write to the run is told, so that a resume finds its calls. */
  readonly calls: Uint8Array
}

/** Of one stream. Never disclosed, unlike its run keys, and of the ring's first key, so that no rotation changes what a value is taken for. */
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

/** `sha256:` and the HMAC-SHA-256 of a text, so that it can stand where a digest does. */
export function blindValue(key: Uint8Array, text: string): string {
  return blinded(key, VALUE_PREFIX + text)
}

/** What is recorded in place of a call's key whose arguments were left out. */
export function blindCallKey(key: Uint8Array, callKey: string): string {
  return blinded(key, CALL_PREFIX + callKey)
}

function blinded(key: Uint8Array, text: string): string {
  return `sha256:${createHmac('sha256', key).update(text).digest('hex')}`
}
