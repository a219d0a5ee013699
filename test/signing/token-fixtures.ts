/** @module An issuer, its verifier, and tokens with anything in them. */
import type { KeyObject } from 'node:crypto'
import { type JSONWebKeySet, SignJWT } from 'jose'
import * as assert from 'uvu/assert'
import { createLedgerKeys } from '../../src/signing/key-file.ts'
import {
  createTokenVerifier,
  type TokenRequest,
  TokenTrustError,
  type TokenVerifierOptions,
} from '../../src/signing/tokens.ts'
import { NOW, seededRandom } from './fixtures.ts'

export const START_MS = Date.parse(NOW)
export const ISSUER = 'urn:countersign:test'
export const AUDIENCE = 'urn:countersign:ledger'
export const keys = createLedgerKeys(NOW, seededRandom('tokens'))
export const [tokenKey] = keys.tokenKeys

export function request(given: Partial<TokenRequest> = {}): TokenRequest {
  const base = {
    keys,
    issuer: ISSUER,
    audience: AUDIENCE,
    subject: 'alice',
    tenant: 'acme',
    scopes: ['runs:write', 'runs:read'],
  }
  return { ...base, ttlSeconds: 600, now: START_MS, ...given }
}

export function verifier(given: Partial<TokenVerifierOptions> = {}) {
  return createTokenVerifier({ keys, issuer: ISSUER, audience: AUDIENCE, now: () => START_MS, ...given })
}

export async function codeOf(token: string, given: Partial<TokenVerifierOptions> = {}): Promise<string> {
  const result = await verifier(given).verify(token)
  return result.ok ? 'ok' : result.code
}

export interface Craft {
  readonly header?: object
  readonly claims?: object
  readonly key?: KeyObject
}

export const seconds = Math.floor(START_MS / 1000)
export const goodClaims = {
  iss: ISSUER,
  aud: AUDIENCE,
  sub: 'alice',
  tenant: 'acme',
  scope: 'runs:read',
  iat: seconds,
  exp: seconds + 600,
}

/** A token signed by the ledger's own key, with anything in it. */
export async function craft({ header = {}, claims = {}, key }: Craft = {}): Promise<string> {
  assert.ok(tokenKey)
  return new SignJWT({ ...goodClaims, ...claims })
    .setProtectedHeader({ alg: 'EdDSA', typ: 'at+jwt', kid: tokenKey.kid, ...header })
    .sign(key ?? tokenKey.privateKey)
}

export const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
export const forge = (header: object, signature = 'AA') => `${encode(header)}.${encode(goodClaims)}.${signature}`

export function jwksOf(key: KeyObject, kid: string): JSONWebKeySet {
  return { keys: [{ ...key.export({ format: 'jwk' }), kid }] } as JSONWebKeySet
}

export function trustError(code: TokenTrustError['code']) {
  return (error: unknown) => error instanceof TokenTrustError && error.code === code
}
