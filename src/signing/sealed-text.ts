/**
 * @module Encrypted texts that clients hand back and only this ledger can read: the synthetic-IV construction (Rogaway and Shrimpton 2006;
 * RFC 5297 uses another MAC) from HMAC-SHA-256 and AES-256-CTR. The same text under the same name and key gives the same bytes.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'

const KEY_BYTES = 32
const IV_BYTES = 16
const CIPHER = 'aes-256-ctr'

export interface TextKeys {
  readonly mac: Uint8Array
  readonly cipher: Uint8Array
}

/** Derives two keys from one secret by HKDF-SHA-256 (RFC 5869). `info` separates them from all other keys derived from that secret. */
export function deriveTextKeys(secret: Uint8Array, info: string): TextKeys {
  const bytes = new Uint8Array(hkdfSync('sha256', secret, '', info, 2 * KEY_BYTES))
  return { mac: bytes.subarray(0, KEY_BYTES), cipher: bytes.subarray(KEY_BYTES) }
}

/** `name` is the purpose of the text and must not contain a line feed. The name is authenticated but not contained in the result. */
export function sealText(keys: TextKeys, name: string, text: string): Uint8Array {
  const iv = syntheticIv(keys, name, Buffer.from(text))
  const cipher = createCipheriv(CIPHER, keys.cipher, iv)
  return Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final()])
}

/** Undefined unless the bytes were sealed under this key for this name. */
export function openText(keys: TextKeys, name: string, sealed: Uint8Array): string | undefined {
  if (sealed.length < IV_BYTES) return undefined
  const iv = sealed.subarray(0, IV_BYTES)
  const decipher = createDecipheriv(CIPHER, keys.cipher, iv)
  const text = Buffer.concat([decipher.update(sealed.subarray(IV_BYTES)), decipher.final()])
  return timingSafeEqual(iv, syntheticIv(keys, name, text)) ? text.toString() : undefined
}

function syntheticIv({ mac }: TextKeys, name: string, text: Uint8Array): Uint8Array {
  return createHmac('sha256', mac).update(`${name}\n`).update(text).digest().subarray(0, IV_BYTES)
}
