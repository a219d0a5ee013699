/** @module Verification of bearer tokens: an allow-list of algorithms per key, all required claims checked, verified tokens cached for a minute. */
import { decodeJwt, decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose'
import { LRUCache } from 'lru-cache'
import { sha256Hex } from './digests.ts'
import type { LedgerKeys } from './ledger-keys.ts'
import { LONG_LIVED_SCOPE, type Principal, principalOf } from './token-claims.ts'
import { TOKEN_TYP } from './token-issuer.ts'
import {
  createKeyPicker,
  type KeyFault,
  type KeyPicker,
  type TrustedIssuer,
  type TrustedKey,
  type TrustSettings,
} from './token-trust.ts'

export { type ActClaim, LONG_LIVED_SCOPE, type Principal, SCOPES, type Scope } from './token-claims.ts'
export { issueToken, publicJwks, type TokenRequest, tokenSigner } from './token-issuer.ts'
export { assertTrust, TokenTrustError, type TrustedIssuer } from './token-trust.ts'

export const TOKEN_MAX_CHARS = 8 * 1024
/** How long a verified token is accepted without being verified again; never beyond its own expiry or that of its key. */
const TOKEN_CACHE_MS = 60_000

/** For the log only; the caller learns no more than that the token was refused. */
export type TokenFault =
  | KeyFault
  | 'token-too-large'
  | 'token-malformed'
  | 'token-critical-header'
  | 'token-signature'
  | 'token-typ'
  | 'token-audience'
  | 'token-expired'
  | 'token-not-yet-valid'
  | 'token-lifetime'
  | 'token-claims'
  | 'token-tenant'
  | 'token-revoked'

export type TokenResult =
  | { readonly ok: true; readonly claims: Principal }
  | { readonly ok: false; readonly code: TokenFault }

type TokenKeys = Pick<LedgerKeys, 'tokenKeys'>

export interface TokenVerifierOptions extends Omit<TrustSettings, 'trusted'> {
  /** A function is called for each token; when it returns other keys, the cache is cleared. */
  readonly keys: TokenKeys | (() => TokenKeys)
  /** As `keys`: an issuer that was removed from the list is no longer trusted. Throws `TokenTrustError` at the first token if the list is not safe. */
  readonly trusted?: readonly TrustedIssuer[] | (() => readonly TrustedIssuer[]) | undefined
  readonly audience: string
  /** Default 30. */
  readonly clockToleranceSeconds?: number
  /** Size of the cache of verified tokens. Default 16 MiB. */
  readonly cacheMaxBytes?: number
  /**
   * `implied`, the default: `runs:read` includes `payloads:read`, as in tokens issued before that scope existed. `required`: only
   * `payloads:read` and `audit:read` give access to bodies.
   */
  readonly payloadScope?: 'implied' | 'required'
  /** Milliseconds since 1970. */
  readonly now: () => number
}

export interface TokenVerifier {
  /** Returns synchronously if the result is cached. */
  readonly verify: (token: string) => TokenResult | Promise<TokenResult>
  /** Forgets all verified tokens; call it when a key is revoked or rotated. */
  readonly clear: () => void
  /** Memory used by the cached tokens, in bytes. */
  readonly cacheBytes: number
}

const CLOCK_TOLERANCE_SECONDS = 30
/** Longest lifetime of a token, from `iat` (or now if absent) to `exp`. */
export const TOKEN_MAX_SECONDS = 24 * 60 * 60
/** Longest lifetime of a token whose only scope is `LONG_LIVED_SCOPE`. */
export const SCRAPE_TOKEN_MAX_SECONDS = 366 * TOKEN_MAX_SECONDS
const CACHE_MAX_BYTES = 16 * 1024 * 1024
/** Claims, sets and the cache's own overhead, rounded up; the size of the token's text is added. */
const ENTRY_BYTES = 1_024

/** Compact JWS: three non-empty parts of base64url. A JWE has five parts; an unsecured JWS has an empty last one. */
const COMPACT_JWS = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/

interface Verified {
  readonly result: TokenResult
  readonly untilMs: number
}

/** Throws `TokenTrustError` on settings under which no token could be trusted, such as a shared secret below 32 bytes. */
export function createTokenVerifier(options: TokenVerifierOptions): TokenVerifier {
  const cache = new LRUCache<string, Verified>({ maxSize: options.cacheMaxBytes ?? CACHE_MAX_BYTES })
  let trust = currentTrust(options)
  let pick = pickerOf(trust, options)
  /** A verification that began before the cache was cleared must not fill it afterwards. */
  let generation = 0
  const clear = () => {
    generation++
    cache.clear()
  }
  const refresh = () => {
    const now = currentTrust(options)
    if (now.keys === trust.keys && now.trusted === trust.trusted) return
    trust = now
    pick = pickerOf(now, options)
    clear()
  }
  const verify = (token: string): TokenResult | Promise<TokenResult> => {
    if (token.length > TOKEN_MAX_CHARS) return { ok: false, code: 'token-too-large' }
    refresh()
    const nowMs = options.now()
    // Cached by its hash, so that the cache holds nothing that could be used as a token.
    const name = sha256Hex(token)
    const known = cache.get(name)
    return known !== undefined && nowMs < known.untilMs ? known.result : verifyAnew(token, name, nowMs)
  }
  const verifyAnew = async (token: string, name: string, nowMs: number): Promise<TokenResult> => {
    const began = generation
    const { retiredMs, ...result } = await verifyToken(token, { ...options, pick, nowMs })
    if (result.ok && began === generation) {
      const untilMs = Math.min(nowMs + TOKEN_CACHE_MS, result.claims.expiresAt, retiredMs ?? Number.POSITIVE_INFINITY)
      cache.set(name, { result, untilMs }, { size: ENTRY_BYTES + 2 * token.length })
    }
    return result
  }
  return {
    verify,
    clear,
    get cacheBytes() {
      return cache.calculatedSize
    },
  }
}

interface Trust {
  readonly keys: TokenKeys
  readonly trusted: readonly TrustedIssuer[] | undefined
}

function currentTrust({ keys, trusted }: TokenVerifierOptions): Trust {
  return {
    keys: typeof keys === 'function' ? keys() : keys,
    trusted: typeof trusted === 'function' ? trusted() : trusted,
  }
}

function pickerOf({ keys, trusted }: Trust, { issuer, sharedSecret }: TokenVerifierOptions): KeyPicker {
  return createKeyPicker(keys, { issuer, sharedSecret, trusted })
}

interface Verification extends TokenVerifierOptions {
  readonly pick: KeyPicker
  readonly nowMs: number
}

/** Verifies a token. The result includes the expiry of the key, if it has one. */
async function verifyToken(
  token: string,
  options: Verification,
): Promise<TokenResult & { readonly retiredMs?: number | undefined }> {
  if (!COMPACT_JWS.test(token)) return refused('token-malformed')
  try {
    const trusted = pickKey(token, options)
    if (typeof trusted === 'string') return refused(trusted)
    const payload = await verifiedPayload(token, trusted, options)
    if (trusted.tenants?.has(String(payload.tenant)) === false) return refused('token-tenant')
    return { ...judge(payload, options), retiredMs: trusted.retiredMs }
  } catch (error) {
    return refused(faultOf(error))
  }
}

function pickKey(token: string, { pick, nowMs }: Verification): TrustedKey | TokenFault {
  const header = decodeProtectedHeader(token)
  // No extension is supported, so none may be critical (RFC 7515 section 4.1.11); `b64` requires one.
  if ('crit' in header || 'b64' in header) return 'token-critical-header'
  return pick({ issuer: decodeJwt(token).iss, alg: header.alg, kid: header.kid, nowMs })
}

async function verifiedPayload(
  token: string,
  { key, algorithms }: TrustedKey,
  options: Verification,
): Promise<JWTPayload> {
  const settings = {
    algorithms: [...algorithms],
    audience: options.audience,
    typ: TOKEN_TYP,
    clockTolerance: options.clockToleranceSeconds ?? CLOCK_TOLERANCE_SECONDS,
    currentDate: new Date(options.nowMs),
    requiredClaims: ['iss', 'aud', 'exp', 'sub', 'tenant'],
  }
  const { payload } = await jwtVerify(token, key, settings)
  return payload
}

function judge(payload: JWTPayload, options: Verification): TokenResult {
  const nowSeconds = options.nowMs / 1000
  const tolerance = options.clockToleranceSeconds ?? CLOCK_TOLERANCE_SECONDS
  if (payload.iat !== undefined && payload.iat > nowSeconds + tolerance) return refused('token-not-yet-valid')

  const claims = principalOf(payload)
  if (claims === undefined) return refused('token-claims')
  const lifetime = (payload.exp ?? Number.POSITIVE_INFINITY) - (payload.iat ?? nowSeconds)
  const longest = onlyReadsMetrics(claims.scopes) ? SCRAPE_TOKEN_MAX_SECONDS : TOKEN_MAX_SECONDS
  return lifetime > longest ? refused('token-lifetime') : { ok: true, claims: withImplied(claims, options) }
}

/** Scopes that give access to the bodies of a run. */
const READ_BODIES = ['payloads:read', 'audit:read']

function withImplied(claims: Principal, { payloadScope = 'implied' }: TokenVerifierOptions): Principal {
  if (payloadScope === 'required')
    return READ_BODIES.some((scope) => claims.scopes.has(scope)) ? claims : { ...claims, withoutBodies: true }
  if (!claims.scopes.has('runs:read')) return claims
  return { ...claims, scopes: new Set([...claims.scopes, 'payloads:read']) }
}

export function onlyReadsMetrics(scopes: ReadonlySet<string>): boolean {
  return scopes.size === 1 && scopes.has(LONG_LIVED_SCOPE)
}

function refused(code: TokenFault): TokenResult {
  return { ok: false, code }
}

const FAULT_OF_CLAIM: ReadonlyMap<string, TokenFault> = new Map([
  ['typ', 'token-typ'],
  ['aud', 'token-audience'],
  ['nbf', 'token-not-yet-valid'],
])

const FAULT_OF_CODE: ReadonlyMap<string, TokenFault> = new Map([
  ['ERR_JWT_EXPIRED', 'token-expired'],
  ['ERR_JOSE_ALG_NOT_ALLOWED', 'token-algorithm'],
  ['ERR_JOSE_NOT_SUPPORTED', 'token-algorithm'],
  ['ERR_JWKS_NO_MATCHING_KEY', 'token-key'],
  ['ERR_JWKS_MULTIPLE_MATCHING_KEYS', 'token-key'],
  ['ERR_JWS_SIGNATURE_VERIFICATION_FAILED', 'token-signature'],
])

function faultOf(error: unknown): TokenFault {
  if (error instanceof errors.JWTClaimValidationFailed) return FAULT_OF_CLAIM.get(error.claim) ?? 'token-claims'
  if (error instanceof errors.JOSEError) return FAULT_OF_CODE.get(error.code) ?? 'token-malformed'
  // Key material that does not fit its algorithm, or bytes that are not JSON; a valid token causes neither.
  return 'token-malformed'
}
