/**
 * @module Keys of data subjects: values kept by a redaction rule are encrypted under one, and become unreadable once it is destroyed
 * (LIFE-2 to LIFE-4).
 */
import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto'
import { fromBase64url } from './base64url.ts'

export const SUBJECT_SECRET_BYTES = 32
const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16
const ENCRYPT_INFO = 'countersign/subject-encrypt/v1\n'
const MARK_INFO = 'countersign/subject-mark/v1\n'
const WRAP_INFO = 'countersign/subject-wrap/v1\n'

export interface SubjectKey {
  /** Does not reveal the subject. */
  readonly id: string
  /** Encryption key. */
  readonly encrypt: Uint8Array
  /** Key of the digests in redaction markers, and of the recorded digests of what was sent. */
  readonly mark: Uint8Array
}

const derive = (secret: Uint8Array, info: string): Uint8Array =>
  new Uint8Array(hkdfSync('sha256', secret, '', info, SUBJECT_SECRET_BYTES))

export function subjectKey(id: string, secret: Uint8Array): SubjectKey {
  return { id, encrypt: derive(secret, ENCRYPT_INFO), mark: derive(secret, MARK_INFO) }
}

/** The secret as it is stored: encrypted under a key of the ring and bound to its own id. */
export function wrapSecret(ringSecret: Uint8Array, id: string, of: { secret: Uint8Array; nonce: Uint8Array }): string {
  return sealed(derive(ringSecret, WRAP_INFO), { aad: id, nonce: of.nonce, plain: of.secret })
}

/** Undefined unless the text was wrapped under this key of the ring for this id. */
export function unwrapSecret(ringSecret: Uint8Array, id: string, wrapped: string): Uint8Array | undefined {
  return opened(derive(ringSecret, WRAP_INFO), { aad: id, sealed: wrapped })
}

/** `aad` is the place of the ciphertext, which cannot be decrypted in any other place. */
export function encryptUnder(key: SubjectKey, aad: string, of: { text: string; nonce: Uint8Array }): string {
  return sealed(key.encrypt, { aad, nonce: of.nonce, plain: Buffer.from(of.text) })
}

/** Undefined unless the text was encrypted under this key for this place. */
export function decryptUnder(key: SubjectKey, aad: string, encrypted: string): string | undefined {
  const plain = opened(key.encrypt, { aad, sealed: encrypted })
  return plain === undefined ? undefined : Buffer.from(plain).toString()
}

function sealed(key: Uint8Array, of: { aad: string; nonce: Uint8Array; plain: Uint8Array }): string {
  const cipher = createCipheriv(CIPHER, key, of.nonce.subarray(0, NONCE_BYTES))
  cipher.setAAD(Buffer.from(of.aad))
  const text = [of.nonce.subarray(0, NONCE_BYTES), cipher.update(of.plain), cipher.final(), cipher.getAuthTag()]
  return Buffer.concat(text).toString('base64url')
}

function opened(key: Uint8Array, of: { aad: string; sealed: string }): Uint8Array | undefined {
  const bytes = fromBase64url(of.sealed)
  if (bytes === undefined || bytes.length < NONCE_BYTES + TAG_BYTES) return undefined
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(of.aad))
  decipher.setAuthTag(bytes.subarray(bytes.length - TAG_BYTES))
  try {
    const plain = decipher.update(bytes.subarray(NONCE_BYTES, bytes.length - TAG_BYTES))
    return Buffer.concat([plain, decipher.final()])
  } catch {
    return undefined
  }
}
