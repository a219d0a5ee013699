/** @module Keys of signed notes: verifiers, signers, and the text form of a verifier key (C2SP signed-note, tlog-cosignature). */
import { createHash, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { fromBase64, toBase64 } from './base64.ts'

/** Supported signature types: plain Ed25519, and the timestamped cosignature of a witness. */
export const NOTE_TYPES = { ed25519: 0x01, cosignature: 0x04 } as const
export type NoteType = (typeof NOTE_TYPES)[keyof typeof NOTE_TYPES]

const PUBLIC_KEY_BYTES = 32
const SIGNATURE_BYTES = 64
const KEY_ID_BYTES = 4
/** RFC 8410 section 4: the DER prefix of an Ed25519 public key, before its 32 bytes. */
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex')

export interface NoteVerifier {
  readonly name: string
  readonly type: NoteType
  /** First 4 bytes of SHA-256 over name, newline, type and key, as 8 hex digits. */
  readonly keyId: string
  /** Text form, which `parseVerifierKey` parses. */
  readonly text: string
  readonly key: KeyObject
}

/** Key names have no spaces and no plus. */
export function isKeyName(name: string): boolean {
  return name !== '' && name.isWellFormed() && !/[\s+\p{Cc}\p{Z}]/u.test(name)
}

/** The verifier for a name and a key, public or private. Throws `TypeError` for another kind of key or an invalid name. */
export function noteVerifier(name: string, key: KeyObject, type: NoteType = NOTE_TYPES.ed25519): NoteVerifier {
  const publicKey = key.type === 'public' ? key : createPublicKey(key)
  if (publicKey.asymmetricKeyType !== 'ed25519') throw new TypeError('not an Ed25519 key')
  if (!isKeyName(name)) throw new TypeError('the name of a key has no space and no "+"')
  // Exporting as JWK takes a hundredth of the time of DER.
  const bytes = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url')
  const typed = Buffer.concat([Buffer.of(type), bytes])
  const keyId = createHash('sha256')
    .update(`${name}\n`)
    .update(typed)
    .digest('hex')
    .slice(0, 2 * KEY_ID_BYTES)
  return { name, type, keyId, key: publicKey, text: `${name}+${keyId}+${toBase64(typed)}` }
}

/** Parses `<name>+<8 hex>+base64(type || key)`; undefined for another form, an unknown type, or a key id that does not match the key. */
export function parseVerifierKey(text: string): NoteVerifier | undefined {
  const [name = '', keyId = '', typedText = '', ...more] = splitKey(text)
  const typed = fromBase64(typedText)
  if (typed?.length !== 1 + PUBLIC_KEY_BYTES || more.length > 0 || !isKeyName(name)) return undefined
  const type = Object.values(NOTE_TYPES).find((known) => known === typed[0])
  if (type === undefined) return undefined
  try {
    const der = Buffer.concat([SPKI_PREFIX, typed.subarray(1)])
    const verifier = noteVerifier(name, createPublicKey({ key: der, format: 'der', type: 'spki' }), type)
    return verifier.keyId === keyId && verifier.text === text ? verifier : undefined
  } catch {
    return undefined
  }
}

/** The base64 of the key may contain a plus. */
function splitKey(text: string): readonly string[] {
  const [name = '', keyId = '', ...rest] = text.split('+')
  return [name, keyId, rest.join('+')]
}

export interface NoteSigner {
  readonly verifier: NoteVerifier
  /** The bytes after the key id of a signature line. */
  readonly sign: (text: string) => Uint8Array
}

/** Signs notes as `name`. `key` is the private half. */
export function noteSigner(name: string, key: KeyObject): NoteSigner {
  return { verifier: noteVerifier(name, key), sign: (text) => sign(null, Buffer.from(text), key) }
}

/** Whether `signature` (the bytes after the key id) is this key's signature of the text. */
export function isSignedBy({ type, key }: NoteVerifier, text: string, signature: Uint8Array): boolean {
  if (type === NOTE_TYPES.cosignature) return cosignedAt(key, text, signature) !== undefined
  return signature.length === SIGNATURE_BYTES && verify(null, Buffer.from(text), key, signature)
}

const TIMESTAMP_BYTES = 8

/** The text that a witness signs: the checkpoint and the time in seconds. */
function cosignedText(timeSeconds: number, text: string): string {
  return `cosignature/v1\ntime ${timeSeconds}\n${text}`
}

/** Cosigns checkpoints as `name`, at the clock's time in whole seconds since 1970. */
export function cosigner(name: string, key: KeyObject, nowSeconds: () => number): NoteSigner {
  return {
    verifier: noteVerifier(name, key, NOTE_TYPES.cosignature),
    sign: (text) => {
      const time = nowSeconds()
      const stamp = Buffer.alloc(TIMESTAMP_BYTES)
      stamp.writeBigUInt64BE(BigInt(time))
      return Buffer.concat([stamp, sign(null, Buffer.from(cosignedText(time, text)), key)])
    },
  }
}

/** The time in seconds of a valid cosignature; undefined if it is not valid. */
export function cosignedAt(key: KeyObject, text: string, signature: Uint8Array): number | undefined {
  if (signature.length !== TIMESTAMP_BYTES + SIGNATURE_BYTES) return undefined
  const time = Number(Buffer.from(signature).readBigUInt64BE(0))
  if (!Number.isSafeInteger(time)) return undefined
  const valid = verify(null, Buffer.from(cosignedText(time, text)), key, signature.subarray(TIMESTAMP_BYTES))
  return valid ? time : undefined
}
