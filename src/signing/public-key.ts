/** @module Public keys that others registered: imports a JWK only after checking that it is a usable signing key. */
import { createPublicKey, type KeyObject } from 'node:crypto'
import type { JsonObject } from '../../schemas/json.ts'
import { fromBase64url } from './base64url.ts'

export type PublicKeyAlgorithm = 'EdDSA' | 'ES256'

export interface PublicKeyUse {
  readonly alg: PublicKeyAlgorithm
  readonly key: KeyObject
}

/**
 * The key of a public JWK (RFC 7517) and the one algorithm it is used with; undefined for any other type or curve, a private half, a `use`
 * or `alg` of another kind, or an Ed25519 point of small order.
 */
export function publicKeyFromJwk(jwk: JsonObject): PublicKeyUse | undefined {
  const alg = algorithmOf(jwk)
  if (alg === undefined || 'd' in jwk || !isMeantForSigning(jwk, alg)) return undefined
  if (alg === 'EdDSA' && isSmallOrder(jwk.x)) return undefined
  const { kty, crv, x, y } = jwk
  try {
    return {
      alg,
      key: createPublicKey({ key: { kty, crv, x, ...(y !== undefined && { y }) }, format: 'jwk' } as never),
    }
  } catch {
    return undefined
  }
}

function algorithmOf(jwk: JsonObject): PublicKeyAlgorithm | undefined {
  if (jwk.kty === 'OKP' && jwk.crv === 'Ed25519') return 'EdDSA'
  if (jwk.kty === 'EC' && jwk.crv === 'P-256') return 'ES256'
  return undefined
}

function isMeantForSigning(jwk: JsonObject, alg: PublicKeyAlgorithm): boolean {
  // RFC 9864 gives EdDSA over Ed25519 its own name.
  const named = jwk.alg === undefined || jwk.alg === alg || (alg === 'EdDSA' && jwk.alg === 'Ed25519')
  const operations = jwk.key_ops
  const verifies = operations === undefined || (Array.isArray(operations) && operations.includes('verify'))
  return named && verifies && (jwk.use === undefined || jwk.use === 'sig')
}

/**
 * The y coordinates (little-endian, sign bit cleared) of the eight points of small order, including their encodings beyond the field's
 * prime: under these keys a signature fits any message (RFC 8032 leaves the check to the application).
 */
const SMALL_ORDER = new Set([
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000000',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
])
const SIGN_BIT = 0x80
const KEY_BYTES = 32

/** Also true for a value that is not a 32-byte key. */
export function isSmallOrder(x: unknown): boolean {
  const bytes = typeof x === 'string' ? fromBase64url(x) : undefined
  if (bytes?.length !== KEY_BYTES) return true
  bytes[KEY_BYTES - 1] = (bytes[KEY_BYTES - 1] ?? 0) & ~SIGN_BIT
  return SMALL_ORDER.has(Buffer.from(bytes).toString('hex'))
}
