/** @module The ring of master keys as a value, and the run keys derived from it (SEAL-6, SEAL-8, SEAL-9). */

import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { TIME_PATTERN } from '../../schemas/header.ts'
import { parseJsonOrUndefined } from '../../schemas/json.ts'

import { fromBase64url } from './base64url.ts'
import { canonicalJson } from './canonical-json.ts'

/** The output size of HMAC-SHA-256: a shorter secret would be the weakest part (RFC 2104 section 3). */
export const SECRET_MIN_BYTES = 32
const SECRET_MAX_BYTES = 1024
/** As many zeros as the hash has bytes. */
const NO_SALT = new Uint8Array(32)
const RUN_KEY_INFO = 'countersign/run-key/v1\n'
const KID_PATTERN = /^[A-Za-z0-9_.-]{1,64}$/
/** Size of the cache of run keys, which holds one per run that is being written. */
const RUN_KEYS_MAX_BYTES = 8 * 1024 * 1024
/** Size of a cached key with its padded forms and its cache name, rounded up. */
const KEPT_KEY_BYTES = 1_024

export interface RingKey {
  readonly kid: string
  readonly secret: Uint8Array
  /** RFC 3339, UTC, milliseconds. */
  readonly created: string
  /** When the next key took over. Periods are judged by order in the ring, never by this timestamp. */
  readonly retired?: string
}

/** Oldest first; the last key seals. A key's index never changes, because the index must not decrease within a stream. */
export interface KeyRing {
  readonly keys: readonly RingKey[]
}

/** The order of the keys alone, which is enough to judge periods and all that a verifier without secrets has. */
export interface KeyOrder {
  readonly keys: readonly { readonly kid: string }[]
}

export type RandomBytes = (bytes: number) => Uint8Array

export function createKeyRing(now: string, random: RandomBytes): KeyRing {
  return { keys: [newKey(1, now, random)] }
}

/** A ring with a new sealing key. The previous keys stay, to verify what they sealed. */
export function rotateKeyRing(ring: KeyRing, now: string, random: RandomBytes): KeyRing {
  const current = currentKey(ring)
  const older = ring.keys.slice(0, -1)
  return { keys: [...older, { ...current, retired: now }, newKey(ring.keys.length + 1, now, random)] }
}

/** The key that seals. Throws `TypeError` on an empty ring, which no function here creates. */
export function currentKey(ring: KeyRing): RingKey {
  const key = ring.keys.at(-1)
  if (key === undefined) throw new TypeError('the key ring is empty')
  return key
}

/** The key's index in the ring; -1 if the ring does not hold the key. */
export function ringIndex(ring: KeyOrder, kid: string): number {
  const { keys } = ring
  for (let at = 0; at < keys.length; at += 1) if (keys[at]?.kid === kid) return at
  return -1
}

function newKey(number: number, now: string, random: RandomBytes): RingKey {
  return { kid: `k${number}-${Buffer.from(random(4)).toString('hex')}`, secret: random(SECRET_MIN_BYTES), created: now }
}

const Secret = z
  .string()
  .transform((text) => fromBase64url(text) ?? new Uint8Array(0))
  .refine((bytes) => bytes.length >= SECRET_MIN_BYTES, `a secret is base64url of at least ${SECRET_MIN_BYTES} bytes`)
  .refine((bytes) => bytes.length <= SECRET_MAX_BYTES, `a secret is at most ${SECRET_MAX_BYTES} bytes`)

export const Kid = z.string().regex(KID_PATTERN, 'a kid is 1 to 64 of A-Z, a-z, 0-9, _, . and -')
export const KeyTime = z.string().regex(TIME_PATTERN, 'a time is RFC 3339, UTC, with milliseconds')

const RingKeyFile = z.strictObject({ kid: Kid, secret: Secret, created: KeyTime, retired: KeyTime.optional() })

/** The `ring` of a key file. No error message of this schema repeats the input. */
export const RingFile = z
  .array(RingKeyFile)
  .min(1)
  .refine((keys) => new Set(keys.map((key) => key.kid)).size === keys.length, 'two keys share a kid')
  .refine((keys) => keys.at(-1)?.retired === undefined, 'the last key seals and cannot be retired')

export function ringFromFile(keys: z.infer<typeof RingFile>): KeyRing {
  return { keys: keys.map(({ retired, ...key }) => (retired === undefined ? key : { ...key, retired })) }
}

export function ringToFile(ring: KeyRing): z.input<typeof RingFile> {
  return ring.keys.map((key) => ({ ...key, secret: Buffer.from(key.secret).toString('base64url') }))
}

/** Parses the output of `formatKeyRing`. Throws `TypeError` on anything else; its message contains no part of a secret. */
export function parseKeyRing(text: string): KeyRing {
  const ring = RingFile.safeParse(parseJsonOrUndefined(text))
  if (!ring.success) throw new TypeError(`not a key ring: ${ring.error.issues[0]?.message ?? 'unreadable'}`)
  return ringFromFile(ring.data)
}

export function formatKeyRing(ring: KeyRing): string {
  return JSON.stringify(ringToFile(ring))
}

/**
 * HKDF-SHA-256 (RFC 5869), no salt, 32 bytes: one run's key can be disclosed to an auditor without exposing another run. Throws `TypeError`
 * if the secret is shorter than 32 bytes.
 */
export function deriveRunKey(secret: Uint8Array, tenant: string, stream: string): Uint8Array {
  return expandedKey(extractedKey(secret), tenant, stream)
}

/** RFC 5869 section 2.2. Both steps are implemented here, because node's `hkdf` sets up a job for each key, which costs more than the two MACs. */
function extractedKey(secret: Uint8Array): Uint8Array {
  if (secret.length < SECRET_MIN_BYTES) throw new TypeError(`a secret has at least ${SECRET_MIN_BYTES} bytes`)
  return createHmac('sha256', NO_SALT).update(secret).digest()
}

/** RFC 5869 section 2.3: the first block, which is the whole key. */
function expandedKey(extracted: Uint8Array, tenant: string, stream: string): Uint8Array {
  const info = RUN_KEY_INFO + canonicalJson([tenant, stream])
  return createHmac('sha256', extracted).update(`${info}\u0001`).digest()
}

export interface RunKeys {
  /** The key for one stream under one master key; undefined if the ring does not hold `kid`. */
  readonly keyFor: (kid: string, tenant: string, stream: string) => KeyObject | undefined
}

export interface RunKeyCache extends RunKeys {
  /** Memory used by the cached keys, in bytes. */
  readonly bytes: number
}

/** Run keys of one ring, derived once and cached while in use; a rotated ring needs a new cache. */
export function createRunKeys(ring: KeyRing, options: { readonly maxBytes?: number } = {}): RunKeyCache {
  const secrets = new Map(ring.keys.map((key) => [key.kid, extractedKey(key.secret)]))
  // A `max` would allocate room for all entries at once.
  const cache = new LRUCache<string, KeyObject>({
    maxSize: options.maxBytes ?? RUN_KEYS_MAX_BYTES,
    sizeCalculation: () => KEPT_KEY_BYTES,
  })
  const find = (kid: string, tenant: string, stream: string): KeyObject | undefined => {
    const name = `${kid}\n${tenant}\n${stream}`
    const known = cache.get(name)
    if (known !== undefined) return known

    const extracted = secrets.get(kid)
    if (extracted === undefined) return undefined
    const key = createSecretKey(expandedKey(extracted, tenant, stream))
    cache.set(name, key)
    return key
  }
  // Consecutive events usually belong to the same stream.
  let last = { kid: '', tenant: '', stream: '', key: undefined as KeyObject | undefined }
  return {
    get bytes() {
      return cache.calculatedSize
    },
    keyFor: (kid, tenant, stream) => {
      if (last.stream === stream && last.kid === kid && last.tenant === tenant) return last.key
      last = { kid, tenant, stream, key: find(kid, tenant, stream) }
      return last.key
    },
  }
}
