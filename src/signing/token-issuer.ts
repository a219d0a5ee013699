/** @module Access tokens that the ledger issues itself (RFC 9068), signed with Ed25519, and the public keys that verify them. */
import { createPublicKey, randomUUID } from 'node:crypto'
import { SignJWT } from 'jose'
import type { LedgerKeys, TokenKey } from './ledger-keys.ts'
import type { ActClaim } from './token-claims.ts'

export const TOKEN_TYP = 'at+jwt'
export const OWN_ALGORITHM = 'EdDSA'

export interface TokenRequest {
  readonly keys: Pick<LedgerKeys, 'tokenKeys'>
  readonly issuer: string
  readonly audience: string
  readonly subject: string
  readonly tenant: string
  readonly scopes: readonly string[]
  readonly run?: string | undefined
  readonly agent?: string | undefined
  readonly roles?: readonly string[] | undefined
  readonly act?: ActClaim | undefined
  readonly ttlSeconds: number
  /** Milliseconds since 1970. */
  readonly now: number
  /** The token's `jti`. Defaults to a new one. */
  readonly id?: string
}

/** A signed token. Throws `TypeError` if all keys are retired. */
export async function issueToken(request: TokenRequest): Promise<string> {
  const key = tokenSigner(request.keys)

  const issuedAt = Math.floor(request.now / 1000)
  const { tenant, run, agent, act, roles } = request
  return new SignJWT({ tenant, scope: request.scopes.join(' '), ...defined({ run, agent, act, roles }) })
    .setProtectedHeader({ alg: OWN_ALGORITHM, typ: TOKEN_TYP, kid: key.kid })
    .setIssuer(request.issuer)
    .setAudience(request.audience)
    .setSubject(request.subject)
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + request.ttlSeconds)
    .setJti(request.id ?? randomUUID())
    .sign(key.privateKey)
}

/** The key that currently signs tokens. Throws `TypeError` if all keys are retired. */
export function tokenSigner({ tokenKeys }: Pick<LedgerKeys, 'tokenKeys'>): TokenKey {
  const key = tokenKeys.findLast((candidate) => candidate.retired === undefined)
  if (key === undefined) throw new TypeError('no token key may sign')
  return key
}

function defined(claims: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined))
}

export interface PublicJwk {
  readonly kty: 'OKP'
  readonly crv: 'Ed25519'
  readonly x: string
  readonly kid: string
  readonly alg: 'EdDSA'
  readonly use: 'sig'
}

/** The body of `/.well-known/jwks.json`: the keys whose tokens are accepted. The checkpoint key does not sign tokens and is not among them. */
export function publicJwks(keys: Pick<LedgerKeys, 'tokenKeys'>): { readonly keys: readonly PublicJwk[] } {
  const valid = keys.tokenKeys.filter((key) => key.retired === undefined)
  return {
    keys: valid.map(({ kid, privateKey }) => publicJwk(kid, createPublicKey(privateKey).export({ format: 'jwk' }).x)),
  }
}

function publicJwk(kid: string, x: string | undefined): PublicJwk {
  return { kty: 'OKP', crv: 'Ed25519', x: x ?? '', kid, alg: OWN_ALGORITHM, use: 'sig' }
}
