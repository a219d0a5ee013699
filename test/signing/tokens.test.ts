import { generateKeyPairSync } from 'node:crypto'
import { decodeJwt, SignJWT } from 'jose'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { LedgerKeys } from '../../src/signing/key-file.ts'
import { rotateTokenKeys } from '../../src/signing/ledger-keys.ts'
import { issueToken, publicJwks } from '../../src/signing/tokens.ts'
import { NOW, seededRandom } from './fixtures.ts'

import {
  AUDIENCE,
  type Craft,
  codeOf,
  craft,
  goodClaims,
  ISSUER,
  jwksOf,
  keys,
  request,
  START_MS,
  seconds,
  trustError,
  verifier,
} from './token-fixtures.ts'

const test = suite('access tokens')

test('a token that was issued names its caller', async () => {
  const token = await issueToken(
    request({ run: 'r1', agent: 'writer', act: { sub: 'bot', act: { sub: 'desk', act: { sub: 'hub' } } } }),
  )
  const result = await verifier().verify(token)
  assert.equal(result, {
    ok: true,
    claims: {
      tenant: 'acme',
      subject: 'alice',
      actor: 'bot',
      principal: 'alice',
      via: ['desk', 'hub'],
      scopes: new Set(['runs:write', 'runs:read', 'payloads:read']),
      run: 'r1',
      agent: 'writer',
      expiresAt: (seconds + 600) * 1000,
      issuedAt: seconds * 1000,
      tokenId: decodeJwt(token).jti as string,
    },
  })
})

test('without delegation the subject acts, and for nobody else', async () => {
  const result = await verifier().verify(await issueToken(request()))
  assert.ok(result.ok)
  if (!result.ok) return
  assert.is(result.claims.actor, 'alice')
  assert.not.ok('principal' in result.claims)
  assert.not.ok('via' in result.claims)
})

test('a chain of more than eight actors behind the first is refused', async () => {
  const chain = (length: number): object =>
    length === 1 ? { sub: 'a' } : { sub: `a${length}`, act: chain(length - 1) }
  assert.is(await codeOf(await craft({ claims: { act: chain(9) } })), 'ok')
  assert.is(await codeOf(await craft({ claims: { act: chain(10) } })), 'token-claims')
})

test('each claim is demanded, each refusal has a code of its own for the log (A5)', async () => {
  const table: [Craft, string][] = [
    [{ claims: { iss: 'urn:evil' } }, 'token-issuer'],
    [{ claims: { iss: undefined } }, 'token-issuer'],
    [{ claims: { aud: 'urn:other' } }, 'token-audience'],
    [{ claims: { aud: undefined } }, 'token-audience'],
    [{ claims: { aud: ['urn:other', AUDIENCE] } }, 'ok'],
    [{ header: { typ: 'JWT' } }, 'token-typ'],
    [{ header: { typ: undefined } }, 'token-typ'],
    [{ header: { typ: 'application/at+jwt' } }, 'ok'],
    [{ claims: { exp: undefined } }, 'token-claims'],
    [{ claims: { exp: 'soon' } }, 'token-claims'],
    [{ claims: { exp: seconds + 86_401 } }, 'token-lifetime'],
    [{ claims: { exp: seconds + 86_400 } }, 'ok'],
    [{ claims: { iat: undefined, exp: seconds + 86_500 } }, 'token-lifetime'],
    [{ claims: { iat: seconds + 31 } }, 'token-not-yet-valid'],
    [{ claims: { nbf: seconds + 31 } }, 'token-not-yet-valid'],
    [{ claims: { nbf: seconds + 29 } }, 'ok'],
    [{ claims: { exp: seconds - 29 } }, 'ok'],
    [{ claims: { exp: seconds - 31 } }, 'token-expired'],
    [{ claims: { sub: undefined } }, 'token-claims'],
    [{ claims: { tenant: undefined } }, 'token-claims'],
  ]
  for (const [how, expected] of table) assert.is(await codeOf(await craft(how)), expected, JSON.stringify(how))
})

test('a token that only reads metrics may live for a year; with any other scope it may not (A232)', async () => {
  const year = 366 * 86_400
  const table: [Craft, string][] = [
    [{ claims: { scope: 'metrics:read', exp: seconds + year } }, 'ok'],
    [{ claims: { scope: 'metrics:read', exp: seconds + year + 1 } }, 'token-lifetime'],
    [{ claims: { scope: 'metrics:read', iat: undefined, exp: seconds + year + 31 } }, 'token-lifetime'],
    [{ claims: { scope: 'metrics:read runs:read', exp: seconds + 86_401 } }, 'token-lifetime'],
    [{ claims: { scope: 'metrics:read admin', exp: seconds + 86_401 } }, 'token-lifetime'],
    [{ claims: { scope: 'metrics', exp: seconds + 86_401 } }, 'token-lifetime'],
    [{ claims: { scope: '', exp: seconds + 86_401 } }, 'token-lifetime'],
  ]
  for (const [how, expected] of table) assert.is(await codeOf(await craft(how)), expected, JSON.stringify(how))
})

test('names in claims are held to what a header may hold', async () => {
  const bad: object[] = [
    { tenant: 'system' },
    { tenant: 'Acme' },
    { tenant: 'a.b' },
    { tenant: ['acme'] },
    { sub: '' },
    { sub: 'x'.repeat(257) },
    { sub: 'a\nb' },
    { sub: 'a\u0000' },
    { sub: 'a\u009b' },
    { sub: '\ud800' },
    { run: '../x' },
    { agent: '\u001b[31m' },
    { scope: ['runs:read'] },
    { act: 'bot' },
    { act: null },
    { act: {} },
    { act: { sub: 'a\tb' } },
    { act: { sub: 'a', act: [] } },
  ]
  for (const claims of bad) assert.is(await codeOf(await craft({ claims })), 'token-claims', JSON.stringify(claims))
})

test('a token under a rotated key is refused from the moment on at which the key retired, cached or not (A9)', async () => {
  let now = START_MS
  let held: Pick<LedgerKeys, 'tokenKeys'> = keys
  const rotated = rotateTokenKeys(keys, new Date(START_MS + 1).toISOString(), seededRandom('rotated'))
  const token = await issueToken(request())

  const asking = verifier({ keys: () => held, now: () => now })
  assert.ok((await asking.verify(token)).ok)
  held = rotated
  now += 1
  assert.equal(await asking.verify(token), { ok: false, code: 'token-key' })
  assert.is(await codeOf(await issueToken(request({ keys: rotated })), { keys: rotated, now: () => now }), 'ok')

  // The key retires while a token of it is cached.
  const behind = { tokenKeys: [...keys.tokenKeys] }
  now = START_MS
  const told = verifier({
    keys: { tokenKeys: [{ ...keys.tokenKeys[0], retired: NOW } as LedgerKeys['tokenKeys'][number]] },
    now: () => now,
  })
  assert.equal(await told.verify(token), { ok: false, code: 'token-key' })
  const late = rotateTokenKeys(behind, new Date(START_MS + 1000).toISOString(), seededRandom('late'))
  const caching = verifier({ keys: late, now: () => now })
  assert.ok((await caching.verify(token)).ok)
  now = START_MS + 999
  assert.ok((await caching.verify(token)).ok)
  now = START_MS + 1000
  assert.equal(await caching.verify(token), { ok: false, code: 'token-key' })

  now = START_MS
  const cleared = verifier({ keys: late, now: () => now })
  assert.ok((await cleared.verify(token)).ok)
  now = START_MS + 2000
  cleared.clear()
  assert.equal(await cleared.verify(token), { ok: false, code: 'token-key' })
})

test('a cached token ends with its own expiry', async () => {
  let now = START_MS
  const short = verifier({ now: () => now, clockToleranceSeconds: 0 })
  const token = await issueToken(request({ ttlSeconds: 5 }))
  assert.ok((await short.verify(token)).ok)
  now = (seconds + 5) * 1000
  assert.equal(await short.verify(token), { ok: false, code: 'token-expired' })
})

test('a check that began before the cache was cleared does not fill it', async () => {
  let now = START_MS
  const late = rotateTokenKeys(keys, new Date(START_MS + 1000).toISOString(), seededRandom('late'))
  const racing = verifier({ keys: late, now: () => now })
  const token = await issueToken(request())
  const pending = racing.verify(token)
  racing.clear()
  assert.ok((await pending).ok)
  now = START_MS + 2000
  assert.equal(await racing.verify(token), { ok: false, code: 'token-key' })
})

test('a shared secret below 32 bytes is refused at start (A10)', async () => {
  assert.throws(() => verifier({ sharedSecret: Buffer.alloc(31) }), trustError('token-secret-weak'))
  assert.throws(() => verifier({ sharedSecret: new Uint8Array(0) }), trustError('token-secret-weak'))
  const secret = Buffer.alloc(32, 3)
  const token = await new SignJWT(goodClaims).setProtectedHeader({ alg: 'HS256', typ: 'at+jwt' }).sign(secret)
  assert.is(await codeOf(token, { sharedSecret: secret }), 'ok')
  assert.is(await codeOf(token), 'token-algorithm')
  const longer = await new SignJWT(goodClaims)
    .setProtectedHeader({ alg: 'HS512', typ: 'at+jwt' })
    .sign(Buffer.alloc(64, 3))
  assert.is(await codeOf(longer, { sharedSecret: Buffer.alloc(64, 3) }), 'token-algorithm')
})

test('a trusted issuer is held to its own keys and algorithms', async () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const jwks = jwksOf(rsa.publicKey, 'r')
  const sign = (alg: string, iss = 'urn:other', kid = 'r') =>
    new SignJWT({ ...goodClaims, iss }).setProtectedHeader({ alg, typ: 'at+jwt', kid }).sign(rsa.privateKey)
  const trusted = [{ issuer: 'urn:other', jwks, algorithms: ['RS256' as const], tenants: ['acme'] }]
  assert.is(await codeOf(await sign('RS256'), { trusted }), 'ok')
  assert.is(await codeOf(await sign('PS256'), { trusted }), 'token-algorithm')
  assert.is(await codeOf(await sign('RS256', 'urn:other', 'x'), { trusted }), 'token-key')
  assert.is(await codeOf(await sign('RS256', ISSUER), { trusted }), 'token-algorithm')
  assert.is(await codeOf(await craft({ claims: { iss: 'urn:other' } }), { trusted }), 'token-algorithm')
})

test('(A60) a trusted issuer speaks for the tenants that its entry names, and for no other', async () => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const entry = { issuer: 'urn:other', jwks: jwksOf(publicKey, 'e'), algorithms: ['EdDSA' as const] }
  const sign = (tenant: unknown) =>
    new SignJWT({ ...goodClaims, iss: 'urn:other', tenant })
      .setProtectedHeader({ alg: 'EdDSA', typ: 'at+jwt', kid: 'e' })
      .sign(privateKey)
  const code = async (tenant: unknown, tenants: readonly string[]) =>
    codeOf(await sign(tenant), { trusted: [{ ...entry, tenants }] })
  assert.is(await code('beta', ['beta', 'gamma']), 'ok')
  for (const tenant of ['acme', 'Beta', 'bet', '*', ['beta'], { toString: 'beta' }]) {
    assert.is.not(await code(tenant, ['beta']), 'ok', JSON.stringify(tenant))
  }
  assert.is(await code('acme', ['beta']), 'token-tenant')
  assert.is(await code('acme', ['*']), 'ok')
  for (const tenants of [undefined, [], 'beta', ['Beta'], [7], ['system ']]) {
    assert.throws(() => verifier({ trusted: [{ ...entry, tenants } as never] }), trustError('token-issuer-tenants'))
  }
})

test('settings under which no token could be trusted are refused at start', () => {
  const ed = generateKeyPairSync('ed25519')
  const jwks = jwksOf(ed.publicKey, 'e')
  const trusted = (given: object) => () =>
    verifier({ trusted: [{ issuer: 'urn:o', jwks, algorithms: ['EdDSA'], tenants: ['acme'], ...given }] })
  assert.not.throws(trusted({}))
  assert.throws(trusted({ algorithms: ['HS256'] }), trustError('token-algorithm-unsafe'))
  assert.throws(trusted({ algorithms: ['none'] }), trustError('token-algorithm-unsafe'))
  assert.throws(trusted({ algorithms: [] }), trustError('token-algorithm-unsafe'))
  assert.throws(trusted({ issuer: ISSUER }), trustError('token-issuer-repeated'))
  assert.throws(trusted({ jwks: jwksOf(ed.privateKey, 'e') }), trustError('token-key-unusable'))
  assert.throws(trusted({ jwks: { keys: [{ kty: 'oct', k: 'AAAA' }] } }), trustError('token-key-unusable'))
})

test('the published keys are public, and only those whose tokens are taken', () => {
  const rotated = rotateTokenKeys(keys, NOW, seededRandom('rotated'))
  const { keys: published } = publicJwks(rotated)
  assert.equal(
    published.map(({ kid }) => kid),
    [rotated.tokenKeys[1]?.kid],
  )
  assert.equal(Object.keys(published[0] ?? {}).sort(), ['alg', 'crv', 'kid', 'kty', 'use', 'x'])
})

test.run()
