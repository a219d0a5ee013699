/**
 * The functions that a browser needs to check a proof on its own: SHA-256 and Ed25519 of Web Crypto, RFC 6962 hashing, C2SP notes. Nothing here relies on the
 * server's judgement.
 */

const encoder = new TextEncoder()

export async function sha256(...parts: readonly Uint8Array[]): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', concat(parts)))
}

function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** RFC 6962 section 2.1. */
export function leafHash(entry: string): Promise<Uint8Array> {
  return sha256(Uint8Array.of(0), encoder.encode(entry))
}

const nodeHash = (left: Uint8Array, right: Uint8Array): Promise<Uint8Array> => sha256(Uint8Array.of(1), left, right)

export interface Inclusion {
  readonly index: number
  readonly size: number
  readonly leaf: Uint8Array
  readonly proof: readonly Uint8Array[]
}

/** The root that a proof leads to (RFC 9162 section 2.1.3.2); undefined if its length does not fit index and size. */
export async function rootOfProof({ index, size, leaf, proof }: Inclusion): Promise<Uint8Array | undefined> {
  if (!Number.isSafeInteger(index) || !Number.isSafeInteger(size) || index < 0 || index >= size) return undefined
  let [node, last] = [BigInt(index), BigInt(size - 1)]
  let hash = leaf
  for (const sibling of proof) {
    if (last === 0n) return undefined
    if ((node & 1n) === 1n || node === last) {
      hash = await nodeHash(sibling, hash)
      while ((node & 1n) === 0n && node !== 0n) {
        node >>= 1n
        last >>= 1n
      }
    } else {
      hash = await nodeHash(hash, sibling)
    }
    node >>= 1n
    last >>= 1n
  }
  return last === 0n ? hash : undefined
}

export interface ProofFile {
  readonly index: number
  readonly proof: readonly Uint8Array[]
  readonly note: string
}

/** C2SP tlog-proof. Throws `TypeError` for anything else. */
export function parseProofFile(text: string): ProofFile {
  const border = text.indexOf('\n\n')
  const [first, ...lines] = text.slice(0, Math.max(0, border)).split('\n')
  const [, index] = /^index (0|[1-9]\d{0,15})$/.exec(lines.find((line) => line.startsWith('index ')) ?? '') ?? []
  if (first !== 'c2sp.org/tlog-proof@v1' || index === undefined) throw new TypeError('this is no proof file')
  const hashes = lines.filter((line) => !line.startsWith('index ') && !line.startsWith('extra '))
  return { index: Number(index), proof: hashes.map(hashOf), note: text.slice(border + 2) }
}

function hashOf(line: string): Uint8Array {
  const bytes = fromBase64(line)
  if (bytes.length !== 32) throw new TypeError('a hash of the proof has not 32 bytes')
  return bytes
}

export interface Checkpoint {
  /** The signed text. */
  readonly text: string
  readonly origin: string
  readonly size: number
  readonly root: Uint8Array
  readonly signatures: readonly { readonly name: string; readonly keyId: string; readonly signature: Uint8Array }[]
}

/** C2SP tlog-checkpoint in a signed note. Throws `TypeError` for anything else. */
export function parseCheckpoint(note: string): Checkpoint {
  const border = note.lastIndexOf('\n\n')
  const text = note.slice(0, border + 1)
  const [origin = '', size = '', root = ''] = text.split('\n')
  if (border < 0 || origin === '' || !/^(0|[1-9]\d{0,15})$/.test(size)) throw new TypeError('this is no checkpoint')
  const signatures = note
    .slice(border + 2)
    .split('\n')
    .filter((line) => line !== '')
    .map(signatureOf)
  return { text, origin, size: Number(size), root: hashOf(root), signatures }
}

function signatureOf(line: string): Checkpoint['signatures'][number] {
  const [, name, encoded] = /^\u2014 (\S+) (\S+)$/.exec(line) ?? []
  if (name === undefined || encoded === undefined) throw new TypeError('a line of the note is no signature')
  const bytes = fromBase64(encoded)
  return { name, keyId: toHex(bytes.subarray(0, 4)), signature: bytes.subarray(4) }
}

export interface VerifierKey {
  readonly name: string
  readonly keyId: string
  readonly key: Uint8Array<ArrayBuffer>
}

const ED25519 = 1

/** Parses `<name>+<8 hex>+base64(type || key)` and checks its key id (C2SP signed-note). Throws `TypeError` for anything else. */
export async function parseVerifierKey(text: string): Promise<VerifierKey> {
  const [, name = '', keyId = '', encoded = ''] = /^([^+\s]+)\+([0-9a-f]{8})\+(\S+)$/.exec(text.trim()) ?? []
  const typed = fromBase64(encoded)
  if (typed.length !== 33 || typed[0] !== ED25519) throw new TypeError('this is no Ed25519 verifier key')
  const own = toHex((await sha256(encoder.encode(`${name}\n`), typed)).subarray(0, 4))
  if (own !== keyId) throw new TypeError('the id of the verifier key is not its own')
  return { name, keyId, key: typed.slice(1) }
}

export type SignatureVerdict = 'valid' | 'invalid' | 'not-signed' | 'unsupported'

export async function verifyCheckpoint(
  { text, signatures }: Checkpoint,
  verifier: VerifierKey,
): Promise<SignatureVerdict> {
  const signed = signatures.find(({ name, keyId }) => name === verifier.name && keyId === verifier.keyId)
  if (signed === undefined) return 'not-signed'
  let key: CryptoKey
  try {
    key = await crypto.subtle.importKey('raw', verifier.key, { name: 'Ed25519' }, false, ['verify'])
  } catch {
    return 'unsupported'
  }
  const valid = await crypto.subtle.verify(
    { name: 'Ed25519' },
    key,
    new Uint8Array(signed.signature),
    encoder.encode(text),
  )
  return valid ? 'valid' : 'invalid'
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text)) throw new TypeError('this is no base64')
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0))
}

export function fromBase64url(text: string): Uint8Array<ArrayBuffer> {
  return fromBase64(text.replaceAll('-', '+').replaceAll('_', '/'))
}

export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

export function utf8(text: string): Uint8Array {
  return encoder.encode(text)
}
