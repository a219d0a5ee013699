/** @module All keys of a ledger: the ring that seals, the key that signs checkpoints, and the keys that sign tokens. */

import { createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { z } from 'zod'
import { parseJson } from '../../schemas/json.ts'
import { fromBase64url, toBase64url } from './base64url.ts'
import {
  createKeyRing,
  type KeyRing,
  KeyTime,
  Kid,
  type RandomBytes,
  RingFile,
  ringFromFile,
  ringToFile,
  SECRET_MIN_BYTES,
} from './key-ring.ts'

export interface TokenKey {
  readonly kid: string
  readonly privateKey: KeyObject
  readonly created: string
  /** Tokens of this key are refused from this time on. */
  readonly retired?: string
}

/** A key that signed the logs earlier. Its private half is deleted: its signatures stay verifiable, and it can sign nothing new. */
export interface FormerLogKey {
  /** Public half. */
  readonly key: KeyObject
  readonly retired: string
  /** Signed note in which this key names its successor. */
  readonly succession: string
}

export interface LedgerKeys {
  readonly ring: KeyRing
  /** Ed25519; its public half is the verifier key that auditors hold. */
  readonly checkpointKey: KeyObject
  /** Earlier checkpoint keys, oldest first. */
  readonly formerLogKeys: readonly FormerLogKey[]
  /** Ed25519, oldest first; the last one signs. */
  readonly tokenKeys: readonly TokenKey[]
  /** Shared secret for tokens of another issuer (HS256). */
  readonly tokenSecret?: Uint8Array
}

/** `code` is stable; the message says what to do and never contains a secret. */
export class KeyFileError extends Error {
  readonly code:
    | 'key-file-missing'
    | 'key-file-unreadable'
    | 'key-file-permissions'
    | 'key-file-invalid'
    | 'key-file-exists'
    | 'key-file-wrapped'
    | 'key-file-plain'
    | 'key-command-failed'

  constructor(code: KeyFileError['code'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'KeyFileError'
    this.code = code
  }
}

/** New keys for a new ledger. */
export function createLedgerKeys(now: string, random: RandomBytes): LedgerKeys {
  return {
    ring: createKeyRing(now, random),
    checkpointKey: ed25519FromSeed(random(SEED_BYTES)),
    formerLogKeys: [],
    tokenKeys: [newTokenKey(1, now, random)],
  }
}

/**
 * The same keys with a new key that signs the logs. `succession` creates the signed note in which the old key names the new one; the old
 * private half is dropped.
 */
export function rotateLogKey(keys: LedgerKeys, { now, random, succession }: LogKeyRotation): LedgerKeys {
  const checkpointKey = ed25519FromSeed(random(SEED_BYTES))
  const former: FormerLogKey = {
    key: createPublicKey(keys.checkpointKey),
    retired: now,
    succession: succession(keys.checkpointKey, checkpointKey),
  }
  return { ...keys, checkpointKey, formerLogKeys: [...keys.formerLogKeys, former] }
}

interface LogKeyRotation {
  readonly now: string
  readonly random: RandomBytes
  readonly succession: (from: KeyObject, to: KeyObject) => string
}

/** Public halves of all keys that sign or have signed the logs, oldest first. */
export function logKeyChain({ formerLogKeys, checkpointKey }: LogKeysOf): readonly KeyObject[] {
  return [...formerLogKeys.map(({ key }) => key), createPublicKey(checkpointKey)]
}

type LogKeysOf = Pick<LedgerKeys, 'formerLogKeys' | 'checkpointKey'>

/** The same keys with a new key that signs tokens; the previous one is retired at once. */
export function rotateTokenKeys<K extends Pick<LedgerKeys, 'tokenKeys'>>(keys: K, now: string, random: RandomBytes): K {
  const retired = keys.tokenKeys.map((key) => (key.retired === undefined ? { ...key, retired: now } : key))
  return { ...keys, tokenKeys: [...retired, newTokenKey(keys.tokenKeys.length + 1, now, random)] }
}

function newTokenKey(number: number, now: string, random: RandomBytes): TokenKey {
  return {
    kid: `t${number}-${Buffer.from(random(4)).toString('hex')}`,
    privateKey: ed25519FromSeed(random(SEED_BYTES)),
    created: now,
  }
}

const SEED_BYTES = 32
const PUBLIC_BYTES = 32
/** Room for three lines and two signatures, with the longest origin that a ledger may have. */
const SUCCESSION_MAX_CHARS = 4_096
/** RFC 8410 section 7: the DER of a PKCS #8 Ed25519 key up to its 32-byte seed. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')

/** Throws `TypeError` if the seed does not have 32 bytes. */
function ed25519FromSeed(seed: Uint8Array): KeyObject {
  if (seed.length !== SEED_BYTES) throw new TypeError('an Ed25519 seed has 32 bytes')
  return createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, seed]), format: 'der', type: 'pkcs8' })
}

/** The 32 raw bytes of an Ed25519 public key, from either half. */
export function ed25519PublicBytes(key: KeyObject): Uint8Array {
  const publicKey = key.type === 'public' ? key : createPublicKey(key)
  const bytes = fromBase64url(publicKey.export({ format: 'jwk' }).x ?? '')
  if (publicKey.asymmetricKeyType !== 'ed25519' || bytes === undefined) throw new TypeError('not an Ed25519 key')
  return bytes
}

const ED25519_NOTE_TYPE = 0x01

/** A signed-note verifier key (C2SP): `<name>+<8 hex>+base64(0x01 || key)`. Throws `TypeError` if the name has a space or a plus. */
export function verifierKey(origin: string, publicKey: Uint8Array): string {
  if (origin === '' || /[\s+]/u.test(origin)) throw new TypeError('the name of a verifier key has no space and no "+"')
  const typed = Buffer.concat([Buffer.of(ED25519_NOTE_TYPE), publicKey])
  const hash = createHash('sha256').update(`${origin}\n`).update(typed).digest('hex').slice(0, 8)
  return `${origin}+${hash}+${typed.toString('base64')}`
}

const PrivateJwk = z
  .strictObject({ kty: z.literal('OKP'), crv: z.literal('Ed25519'), d: z.string(), x: z.string() })
  .transform((jwk, context) => {
    const seed = fromBase64url(jwk.d)
    const key = seed?.length === SEED_BYTES ? ed25519FromSeed(seed) : undefined
    if (key !== undefined && toBase64url(ed25519PublicBytes(key)) === jwk.x) return key
    context.addIssue('the two halves of an Ed25519 key do not belong together')
    return z.NEVER
  })

const PublicJwk = z
  .strictObject({ kty: z.literal('OKP'), crv: z.literal('Ed25519'), x: z.string() })
  .transform((jwk, context) => {
    const bytes = fromBase64url(jwk.x)
    if (bytes?.length === PUBLIC_BYTES) return createPublicKey({ key: jwk, format: 'jwk' })
    context.addIssue('not an Ed25519 key')
    return z.NEVER
  })

const KeyFile = z.strictObject({
  v: z.literal(1),
  ring: RingFile,
  checkpointKey: PrivateJwk,
  formerLogKeys: z
    .array(z.strictObject({ key: PublicJwk, retired: KeyTime, succession: z.string().max(SUCCESSION_MAX_CHARS) }))
    .optional(),
  tokenKeys: z
    .array(z.strictObject({ kid: Kid, key: PrivateJwk, created: KeyTime, retired: KeyTime.optional() }))
    .min(1)
    .refine((keys) => new Set(keys.map((key) => key.kid)).size === keys.length, 'two keys share a kid'),
  tokenSecret: z
    .string()
    .transform((text) => fromBase64url(text) ?? new Uint8Array(0))
    .refine((bytes) => bytes.length >= SECRET_MIN_BYTES, `a secret is base64url of at least ${SECRET_MIN_BYTES} bytes`)
    .optional(),
})

/** Parses the text of a key file. Throws `KeyFileError` `key-file-invalid`, which names the faulty member and never its content. */
export function parseLedgerKeys(text: string, source: string): LedgerKeys {
  const file = KeyFile.safeParse(parseQuietly(text))
  if (!file.success) {
    const issue = file.error.issues[0]
    const place = issue?.path.join('.') || 'the whole'
    throw new KeyFileError(
      'key-file-invalid',
      `${source} is not a key file: ${place} is wrong; restore it from its copy`,
    )
  }
  const { ring, checkpointKey, formerLogKeys = [], tokenKeys, tokenSecret } = file.data
  return {
    ring: ringFromFile(ring),
    checkpointKey,
    formerLogKeys,
    tokenKeys: tokenKeys.map(({ kid, key, created, retired }) => ({
      kid,
      privateKey: key,
      created,
      ...(retired !== undefined && { retired }),
    })),
    ...(tokenSecret !== undefined && { tokenSecret }),
  }
}

export function formatLedgerKeys(keys: LedgerKeys): string {
  const file = {
    v: 1,
    ring: ringToFile(keys.ring),
    checkpointKey: privateJwk(keys.checkpointKey),
    ...(keys.formerLogKeys.length > 0 && { formerLogKeys: keys.formerLogKeys.map(formerKeyFile) }),
    tokenKeys: keys.tokenKeys.map(({ privateKey, ...key }) => ({ ...key, key: privateJwk(privateKey) })),
    ...(keys.tokenSecret && { tokenSecret: toBase64url(keys.tokenSecret) }),
  }
  return `${JSON.stringify(file, null, 2)}\n`
}

function privateJwk(key: KeyObject): object {
  const { kty, crv, d, x } = key.export({ format: 'jwk' })
  return { kty, crv, d, x }
}

function formerKeyFile({ key, ...rest }: FormerLogKey): object {
  const { kty, crv, x } = key.export({ format: 'jwk' })
  return { key: { kty, crv, x }, ...rest }
}

/** Errors of `JSON.parse` quote the input, so they are dropped. */
function parseQuietly(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}
