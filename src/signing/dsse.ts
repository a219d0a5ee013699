/**
 * @module DSSE v1: a signature over a document and its type. The signed bytes begin with `DSSEv1 ` and end in the body, which no signed
 * note does, so that a log's checkpoint key may sign both kinds and neither signature is valid for the other.
 */
import { type KeyObject, sign, verify } from 'node:crypto'

export interface DsseEnvelope {
  readonly payload: string
  readonly payloadType: string
  readonly signatures: readonly { readonly keyid: string; readonly sig: string }[]
}

/** Pre-authentication encoding: the lengths in bytes keep two documents from having the same encoding. */
function encoded(payloadType: string, payload: Uint8Array): Uint8Array {
  const head = `DSSEv1 ${Buffer.byteLength(payloadType)} ${payloadType} ${payload.length} `
  return Buffer.concat([Buffer.from(head), payload])
}

/** Signs a document. `keyid` is a hint. Throws `TypeError` for a payload that ends in a line feed, as the text of a signed note does. */
export function signDsse(
  payload: Uint8Array,
  { payloadType, keyid, key }: { readonly payloadType: string; readonly keyid: string; readonly key: KeyObject },
): DsseEnvelope {
  if (payload.at(-1) === LINE_FEED) throw new TypeError('a payload that is signed here does not end in a line feed')
  const sig = sign(null, encoded(payloadType, payload), key).toString('base64')
  return { payload: Buffer.from(payload).toString('base64'), payloadType, signatures: [{ keyid, sig }] }
}

/** Whether the key signed this payload as a document of this type. */
export function isDsseSigned(
  payload: Uint8Array,
  { payloadType, key, sig }: { readonly payloadType: string; readonly key: KeyObject; readonly sig: Uint8Array },
): boolean {
  return verify(null, encoded(payloadType, payload), key, sig)
}

const LINE_FEED = 0x0a
