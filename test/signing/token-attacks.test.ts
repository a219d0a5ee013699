import { createHmac, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { issueToken, publicJwks, TOKEN_MAX_CHARS } from '../../src/signing/tokens.ts'

import {
  codeOf,
  craft,
  encode,
  forge,
  goodClaims,
  jwksOf,
  keys,
  request,
  tokenKey,
  trustError,
  verifier,
} from './token-fixtures.ts'

const test = suite('access tokens: attacks')

test('no algorithm, in any spelling, is no signature (A1)', async () => {
  for (const alg of ['none', 'None', 'NONE', 'nOnE', '']) {
    assert.is(await codeOf(forge({ alg, typ: 'at+jwt', kid: tokenKey?.kid })), 'token-algorithm')
    assert.is(await codeOf(forge({ alg, typ: 'at+jwt' }, '')), 'token-malformed')
  }
})

test('a public key is no HMAC secret (A2)', async () => {
  assert.ok(tokenKey)
  const publicKey = createPublicKey(tokenKey.privateKey)
  const secrets = [
    publicKey.export({ format: 'pem', type: 'spki' }),
    Buffer.from(publicJwks(keys).keys[0]?.x ?? '', 'base64url'),
  ]
  for (const secret of secrets) {
    const signed = `${encode({ alg: 'HS256', typ: 'at+jwt', kid: tokenKey.kid })}.${encode(goodClaims)}`
    const token = `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
    assert.is(await codeOf(token), 'token-algorithm')
    assert.is(await codeOf(token, { sharedSecret: Buffer.alloc(32, 9) }), 'token-signature')
  }
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const signed = `${encode({ alg: 'HS256', typ: 'at+jwt', kid: 'r' })}.${encode({ ...goodClaims, iss: 'urn:other' })}`
  const pem = rsa.publicKey.export({ format: 'pem', type: 'spki' })
  const token = `${signed}.${createHmac('sha256', pem).update(signed).digest('base64url')}`
  const trusted = [
    { issuer: 'urn:other', jwks: jwksOf(rsa.publicKey, 'r'), algorithms: ['RS256' as const], tenants: ['acme'] },
  ]
  assert.is(await codeOf(token, { trusted }), 'token-algorithm')
})

test('a key that the token brings along is never used, and nothing is fetched (A3)', async () => {
  const attacker = generateKeyPairSync('ed25519')
  const jwk = attacker.publicKey.export({ format: 'jwk' })
  const url = 'http://127.0.0.1:9/keys'
  for (const header of [{ jwk }, { jku: url }, { x5u: url }, { x5c: ['AAAA'] }]) {
    assert.is(await codeOf(await craft({ key: attacker.privateKey, header })), 'token-signature')
    assert.is(
      await codeOf(await craft({ key: attacker.privateKey, header: { ...header, kid: undefined } })),
      'token-key',
    )
    assert.is(await codeOf(await craft({ header })), 'ok')
  }
})

test('a kid that is a path, SQL or the name of a prototype names no key (A4)', async () => {
  for (const kid of [
    '../../keys.json',
    "' OR 1=1 --",
    '__proto__',
    'constructor',
    'toString',
    '',
    7,
    null,
    ['a'],
    {},
  ]) {
    assert.is(await codeOf(forge({ alg: 'EdDSA', typ: 'at+jwt', kid })), 'token-key', String(kid))
  }
})

test('a token of the same issuer for another service or another use is refused (A6)', async () => {
  assert.is(await codeOf(await issueToken(request({ audience: 'urn:other-service' }))), 'token-audience')
  assert.is(await codeOf(await craft({ header: { typ: 'logout+jwt' } })), 'token-typ')
  assert.is(await codeOf(await craft({ header: { typ: 'countersign-envelope+jws' } })), 'token-typ')
})

test('critical headers, b64, encrypted and huge tokens are refused before a key is touched (A7)', async () => {
  const header = { alg: 'EdDSA', typ: 'at+jwt', kid: tokenKey?.kid }
  assert.is(await codeOf(forge({ ...header, crit: ['exp'] })), 'token-critical-header')
  assert.is(await codeOf(forge({ ...header, b64: false, crit: ['b64'] })), 'token-critical-header')
  assert.is(await codeOf(forge({ ...header, b64: false })), 'token-critical-header')
  assert.is(await codeOf('a.b.c.d.e'), 'token-malformed')
  assert.is(await codeOf('x'.repeat(1_000_000)), 'token-too-large')
  assert.is(await codeOf('x'.repeat(TOKEN_MAX_CHARS + 1)), 'token-too-large')
  for (const junk of [
    '',
    '.',
    '..',
    'a.b',
    'a.b.c',
    '!.!.!',
    `${encode(header)}.${encode('x')}.AA`,
    `${encode([])}.AA.AA`,
    'bnVsbA.bnVsbA.AA',
  ]) {
    assert.ok((await codeOf(junk)) !== 'ok', junk)
  }
  const token = await craft()
  assert.is(await codeOf(`${token} `), 'token-malformed')
  assert.is(await codeOf(`Bearer ${token}`), 'token-malformed')
})

test('a zero ECDSA signature and keys of small order are refused (A8)', async () => {
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const trusted = [
    { issuer: 'urn:other', jwks: jwksOf(ec.publicKey, 'e'), algorithms: ['ES256' as const], tenants: ['acme'] },
  ]
  const zero = Buffer.alloc(64).toString('base64url')
  const psychic = `${encode({ alg: 'ES256', typ: 'at+jwt', kid: 'e' })}.${encode({ ...goodClaims, iss: 'urn:other' })}.${zero}`
  assert.is(await codeOf(psychic, { trusted }), 'token-signature')

  const identity = { kty: 'OKP', crv: 'Ed25519', kid: 'i', x: Buffer.alloc(32).fill(1, 0, 1).toString('base64url') }
  const small = [{ issuer: 'urn:other', jwks: { keys: [identity] }, algorithms: ['EdDSA' as const], tenants: ['acme'] }]
  assert.throws(() => verifier({ trusted: small }), trustError('token-key-unusable'))
})

test.run()
