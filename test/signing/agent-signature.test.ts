import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { CompactSign, FlattenedSign } from 'jose'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import {
  checkAgentSignature,
  ENVELOPE_TYP,
  envelopeSigningInput,
  type SignedEnvelope,
} from '../../src/signing/agent-signature.ts'

const test = suite('agent signature')

const ed = generateKeyPairSync('ed25519')
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const jwkOf = (key: KeyObject) => key.export({ format: 'jwk' }) as JsonObject
const edJwk = jwkOf(ed.publicKey)
const ecJwk = jwkOf(ec.publicKey)

const envelope: SignedEnvelope = {
  ledgerId: 'l1',
  tenant: 'acme',
  run: 'r1',
  agent: 'writer',
  parent: `sha256:${'0'.repeat(64)}`,
  payload: { facts: ['ä'] },
}
const input = envelopeSigningInput(envelope)

interface SignOptions {
  readonly key?: KeyObject
  readonly header?: object
  readonly bytes?: Uint8Array
}

async function sign({ key = ed.privateKey, header = {}, bytes = input }: SignOptions = {}): Promise<string> {
  const protectedHeader = { alg: 'EdDSA', typ: ENVELOPE_TYP, ...header }
  const jws = await new CompactSign(bytes).setProtectedHeader(protectedHeader).sign(key)
  return detach(jws)
}

const detach = (jws: string) => jws.replace(/\.[^.]*\./, '..')
const reason = (jws: string, jwk: JsonObject = edJwk, bytes = input) => {
  const result = checkAgentSignature(jws, bytes, { jwk })
  return result.ok ? `ok ${result.alg}` : result.reason
}
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

test('what jose signs with EdDSA or ES256 is accepted', async () => {
  assert.is(reason(await sign()), 'ok EdDSA')
  assert.is(reason(await sign({ key: ec.privateKey, header: { alg: 'ES256' } }), ecJwk), 'ok ES256')
  assert.equal(checkAgentSignature(await sign({ header: { kid: 'a1' } }), input, { jwk: edJwk }), {
    ok: true,
    alg: 'EdDSA',
    kid: 'a1',
  })
})

test('an unencoded payload (RFC 7797) is accepted', async () => {
  const { protected: head, signature } = await new FlattenedSign(input)
    .setProtectedHeader({ alg: 'EdDSA', typ: ENVELOPE_TYP, b64: false, crit: ['b64'] })
    .sign(ed.privateKey)
  assert.is(reason(`${head}..${signature}`), 'ok EdDSA')
})

test('the signed bytes are the canonical form of the members that are there (SEAL-14)', () => {
  assert.is(
    Buffer.from(input).toString(),
    `{"agent":"writer","ledgerId":"l1","parent":"${envelope.parent}","payload":{"facts":["ä"]},"run":"r1","tenant":"acme"}`,
  )
  const more = envelopeSigningInput({ ...envelope, mode: 'merge', tokens: 5, manifestHash: 'm', supersedes: [] })
  assert.ok(Buffer.from(more).includes('"supersedes":[]'))
  const extra = { ...envelope, secret: 'not signed' } as SignedEnvelope
  assert.equal(envelopeSigningInput(extra), input)
})

test('a signature over another member, key or ledger does not fit', async () => {
  const jws = await sign()
  for (const change of [
    { ledgerId: 'l2' },
    { tenant: 'x' },
    { run: 'r2' },
    { agent: 'x' },
    { payload: {} },
    { mode: 'merge' },
  ]) {
    assert.is(reason(jws, edJwk, envelopeSigningInput({ ...envelope, ...change })), 'signature')
  }
  assert.is(reason(jws, jwkOf(generateKeyPairSync('ed25519').publicKey)), 'signature')
})

test('the algorithm is that of the registered key: none, HMAC and others are refused (A1, A2)', async () => {
  const signature = (await sign()).split('.')[2]
  for (const alg of ['none', 'None', 'nOnE', 'HS256', 'ES256', 'RS256', 'eddsa', 7, undefined]) {
    assert.is(reason(`${encode({ alg, typ: ENVELOPE_TYP })}..${signature}`), 'algorithm')
  }
  assert.is(reason(`${encode({ alg: 'none', typ: ENVELOPE_TYP })}..`), 'malformed')
})

test('a key in the header is never used (A3)', async () => {
  const attacker = generateKeyPairSync('ed25519')
  const header = { jwk: jwkOf(attacker.publicKey), jku: 'http://127.0.0.1:1/', x5u: 'http://127.0.0.1:1/' }
  assert.is(reason(await sign({ key: attacker.privateKey, header })), 'signature')
  assert.is(reason(await sign({ header })), 'ok EdDSA')
})

test('unknown critical headers, b64 without crit, another typ and attached payloads are refused (A7)', async () => {
  const signature = (await sign()).split('.')[2]
  const forge = (header: object) => reason(`${encode({ alg: 'EdDSA', typ: ENVELOPE_TYP, ...header })}..${signature}`)
  assert.is(forge({ crit: ['exp'] }), 'critical-header')
  assert.is(forge({ crit: ['b64', 'exp'], b64: false }), 'critical-header')
  assert.is(forge({ crit: [] }), 'critical-header')
  assert.is(forge({ crit: 'b64', b64: false }), 'critical-header')
  assert.is(forge({ crit: ['b64'] }), 'critical-header')
  assert.is(forge({ b64: false }), 'critical-header')
  assert.is(forge({ typ: 'JWT' }), 'typ')
  assert.is(forge({ typ: undefined }), 'typ')
  const attached = await new CompactSign(input)
    .setProtectedHeader({ alg: 'EdDSA', typ: ENVELOPE_TYP })
    .sign(ed.privateKey)
  assert.is(reason(attached), 'malformed')
})

test('a zero ECDSA signature and keys of small order are refused (A8)', () => {
  const header = encode({ alg: 'ES256', typ: ENVELOPE_TYP })
  assert.is(reason(`${header}..${Buffer.alloc(64).toString('base64url')}`, ecJwk), 'signature')

  const edHeader = encode({ alg: 'EdDSA', typ: ENVELOPE_TYP })
  const identity = Buffer.alloc(32).with(0, 1)
  const universal = Buffer.concat([identity, Buffer.alloc(32)]).toString('base64url')
  for (const x of smallOrderKeys()) {
    assert.is(reason(`${edHeader}..${universal}`, { kty: 'OKP', crv: 'Ed25519', x }), 'key-unusable', x)
  }
})

test('a registered JWK of another kind, or with a private half, is unusable', async () => {
  const jws = await sign()
  const rsa = jwkOf(generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey)
  const bad: JsonObject[] = [
    rsa,
    jwkOf(ed.privateKey),
    { ...edJwk, alg: 'ES256' },
    { ...edJwk, use: 'enc' },
    { ...edJwk, key_ops: ['sign'] },
    { ...edJwk, x: 'AA' },
    { ...edJwk, crv: 'X25519' },
    { kty: 'oct', k: 'AAAA' },
    { ...ecJwk, y: ecJwk.x ?? '' },
    {},
  ]
  for (const jwk of bad) assert.is(reason(jws, jwk), 'key-unusable')
  assert.is(reason(jws, { ...edJwk, alg: 'EdDSA', use: 'sig', key_ops: ['verify'], kid: 'x' }), 'ok EdDSA')
})

test('anything that is no JWS gets a reason, not an exception (A7)', async () => {
  const jws = await sign()
  const [head, , signature] = jws.split('.')
  const bad = [
    '',
    '.',
    '..',
    '...',
    'a..b',
    `${jws}.x`,
    `${head}..${signature}=`,
    `${head}.. ${signature}`,
    'x'.repeat(1_000_000),
  ]
  for (const text of bad) assert.ok(reason(text) === 'malformed' || reason(text) === 'header', text.slice(0, 20))
  const duplicate = Buffer.from(`{"alg":"none","alg":"EdDSA","typ":"${ENVELOPE_TYP}"}`).toString('base64url')
  assert.is(reason(`${duplicate}..${signature}`), 'header')
  assert.is(reason(`${encode([])}..${signature}`), 'header')
})

/** All encodings of the eight points of small order, found by the curve's own equation. */
function smallOrderKeys(): string[] {
  const p = 2n ** 255n - 19n
  const keys: string[] = []
  for (const y of smallOrderYs(p)) {
    for (const spelled of [y, y + p]) {
      if (spelled >= 2n ** 255n) continue
      for (const sign of [0n, 1n << 255n]) keys.push(littleEndian(spelled | sign))
    }
  }
  assert.is(keys.length, 14)
  return keys
}

/** y of order 1, 2, 4 and 8: for order 8, doubling gives y = 0, so x^2 = -y^2 and d y^4 + 2 y^2 - 1 = 0 on the curve -x^2 + y^2 = 1 + d x^2 y^2. */
function smallOrderYs(p: bigint): bigint[] {
  const d = ((p - 121665n) * power(121666n, p - 2n, p)) % p
  const root = squareRoot((1n + d) % p, p)
  const inverse = power(d, p - 2n, p)
  const eights = [root, p - root]
    .map((sqrt) => ((sqrt - 1n) * inverse) % p)
    .filter((square) => power(square, (p - 1n) / 2n, p) === 1n)
    .flatMap((square) => [squareRoot(square, p), p - squareRoot(square, p)])
  return [1n, p - 1n, 0n, ...eights]
}

function power(base: bigint, exponent: bigint, p: bigint): bigint {
  let result = 1n
  for (let b = ((base % p) + p) % p, e = exponent; e > 0n; e >>= 1n, b = (b * b) % p)
    if (e & 1n) result = (result * b) % p
  return result
}

function squareRoot(square: bigint, p: bigint): bigint {
  const root = power(square, (p + 3n) / 8n, p)
  return (root * root) % p === square ? root : (root * power(2n, (p - 1n) / 4n, p)) % p
}

function littleEndian(value: bigint): string {
  return Buffer.from(value.toString(16).padStart(64, '0'), 'hex').reverse().toString('base64url')
}

test.run()
