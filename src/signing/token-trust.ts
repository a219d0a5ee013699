/** @module Selects the key and the algorithms that may verify a token: fixed by configuration, never taken from the token (RFC 8725 section 3). */
import { createPublicKey, type KeyObject } from 'node:crypto'
import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose'
import { Tenant } from '../../schemas/names.ts'
import { SECRET_MIN_BYTES } from './key-ring.ts'
import type { LedgerKeys, TokenKey } from './ledger-keys.ts'
import { isSmallOrder } from './public-key.ts'
import { OWN_ALGORITHM } from './token-issuer.ts'

const TRUSTED_ALGORITHMS = ['EdDSA', 'Ed25519', 'ES256', 'RS256', 'PS256'] as const
type TrustedAlgorithm = (typeof TRUSTED_ALGORITHMS)[number]
const SHARED_ALGORITHM = 'HS256'

/** Another issuer, with its public keys from the configuration; no key is fetched. */
export interface TrustedIssuer {
  readonly issuer: string
  readonly jwks: JSONWebKeySet
  readonly algorithms: readonly TrustedAlgorithm[]
  /** The tenants that it may issue tokens for; `["*"]` means every tenant. */
  readonly tenants: readonly string[]
}

const EVERY_TENANT = '*'

/** Thrown for settings under which no token could be trusted; `code` is stable. */
export class TokenTrustError extends Error {
  readonly code:
    | 'token-secret-weak'
    | 'token-algorithm-unsafe'
    | 'token-key-unusable'
    | 'token-issuer-repeated'
    | 'token-issuer-tenants'

  constructor(code: TokenTrustError['code'], message: string) {
    super(message)
    this.name = 'TokenTrustError'
    this.code = code
  }
}

export interface TrustedKey {
  readonly algorithms: readonly string[]
  readonly key: KeyObject | Uint8Array | JWTVerifyGetKey
  /** The key verifies nothing from this time on; milliseconds since 1970. Absent: the key does not expire. */
  readonly retiredMs?: number
  /** The tenants whose tokens the key may verify. Absent: every tenant. */
  readonly tenants?: ReadonlySet<string>
}

export type KeyFault = 'token-issuer' | 'token-algorithm' | 'token-key'

/** Unverified claims of a token about itself: enough to select a key, and trusted only after that key has verified the token. */
interface ClaimedOrigin {
  readonly issuer: unknown
  readonly alg: unknown
  readonly kid: unknown
  /** Milliseconds since 1970. */
  readonly nowMs: number
}

export interface TrustSettings {
  readonly issuer: string
  readonly sharedSecret?: Uint8Array | undefined
  readonly trusted?: readonly TrustedIssuer[] | undefined
}

export type KeyPicker = (origin: ClaimedOrigin) => TrustedKey | KeyFault

/** Throws `TokenTrustError` if an entry of the trusted issuers is invalid. */
export function assertTrust(settings: Pick<TrustSettings, 'issuer' | 'trusted'>): void {
  trustedIssuers(settings)
}

/** Keys are looked up in Maps only, so a `kid` such as `__proto__` or `../key` finds nothing. Throws `TokenTrustError`. */
export function createKeyPicker(keys: Pick<LedgerKeys, 'tokenKeys'>, settings: TrustSettings): KeyPicker {
  const own = new Map(keys.tokenKeys.map((key) => [key.kid, ownKey(key)]))
  const others = trustedIssuers(settings)
  const { issuer, sharedSecret } = settings
  if (sharedSecret !== undefined && sharedSecret.length < SECRET_MIN_BYTES) {
    throw new TokenTrustError(
      'token-secret-weak',
      `a shared secret for ${SHARED_ALGORITHM} has at least ${SECRET_MIN_BYTES} bytes`,
    )
  }
  return ({ issuer: claimed, alg, kid, nowMs }) => {
    if (typeof claimed !== 'string') return 'token-issuer'
    if (claimed !== issuer) return others.get(claimed) ?? 'token-issuer'
    if (alg === SHARED_ALGORITHM && sharedSecret !== undefined)
      return { algorithms: [SHARED_ALGORITHM], key: sharedSecret }
    if (alg !== OWN_ALGORITHM) return 'token-algorithm'
    const key = typeof kid === 'string' ? own.get(kid) : undefined
    return key !== undefined && nowMs < key.retiredMs ? key : 'token-key'
  }
}

function ownKey({ privateKey, retired }: TokenKey): TrustedKey & { readonly retiredMs: number } {
  return {
    algorithms: [OWN_ALGORITHM],
    key: createPublicKey(privateKey),
    retiredMs: retired === undefined ? Number.POSITIVE_INFINITY : Date.parse(retired),
  }
}

function trustedIssuers({
  issuer: own,
  trusted = [],
}: Pick<TrustSettings, 'issuer' | 'trusted'>): ReadonlyMap<string, TrustedKey> {
  const issuers = new Map<string, TrustedKey>()
  for (const { issuer, jwks, algorithms, tenants } of trusted) {
    if (issuer === own || issuers.has(issuer)) {
      throw new TokenTrustError('token-issuer-repeated', `the issuer ${issuer} is named twice`)
    }
    checkAlgorithms(algorithms)
    for (const jwk of jwks.keys) checkKey(jwk)
    checkTenants(issuer, tenants)
    const confined = tenants.includes(EVERY_TENANT) ? {} : { tenants: new Set(tenants) }
    issuers.set(issuer, { algorithms, key: createLocalJWKSet(jwks), ...confined })
  }
  return issuers
}

/** HS256 with a public key as the secret, and `none`, are excluded because no list contains them. */
function checkAlgorithms(algorithms: readonly string[]): void {
  const safe: readonly string[] = TRUSTED_ALGORITHMS
  if (algorithms.length > 0 && algorithms.every((algorithm) => safe.includes(algorithm))) return
  throw new TokenTrustError('token-algorithm-unsafe', `algorithms for a trusted issuer are among ${safe.join(', ')}`)
}

/** The entry comes from a file and may not match its type. */
function checkTenants(issuer: string, tenants: unknown): void {
  const isList = Array.isArray(tenants) && tenants.length > 0
  if (isList && tenants.every((name) => name === EVERY_TENANT || Tenant.safeParse(name).success)) return
  throw new TokenTrustError(
    'token-issuer-tenants',
    `the entry of the issuer ${issuer} must name the tenants that it may speak for, as "tenants": ["acme"], or ["*"] for every one`,
  )
}

function checkKey(jwk: JSONWebKeySet['keys'][number]): void {
  const secret = jwk.kty === 'oct' || jwk.d !== undefined
  if (secret || (jwk.kty === 'OKP' && isSmallOrder(jwk.x))) {
    throw new TokenTrustError('token-key-unusable', 'a trusted issuer is known by public keys of full order only')
  }
}
