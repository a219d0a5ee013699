import { randomBytes } from 'node:crypto'
import { Integer } from 'asn1js'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { sha256 } from '../../src/signing/digests.ts'
import { readTimestampReply } from '../../src/timestamps/timestamp-reply.ts'
import { timestampRequest } from '../../src/timestamps/timestamp-request.ts'
import { checkTokenSignature, readAuthorities } from '../../src/timestamps/token-signature.ts'
import { seededRandom, testSeed } from '../support/random.ts'
import { type StampingTwist, stampingAuthority } from '../support/stamping-authority.ts'

const test = suite('replies of a time-stamping authority')

const data = Buffer.from('ledger.example/acme\n40\nroot\n')
const digest = sha256(data)
const authority = await stampingAuthority()
const trusted = readAuthorities(authority.ca)

function request(nonce = randomBytes(8)) {
  return { nonce, digest, bytes: timestampRequest({ digest, nonce }) }
}

async function judged(twist: StampingTwist = {}, change = (reply: Buffer): Uint8Array => reply): Promise<string> {
  const { bytes, ...asked } = request()
  const read = readTimestampReply(change(await authority.answer(bytes, twist)), asked)
  if (!read.ok) return `${read.code}: ${read.message}`
  const signature = await checkTokenSignature(read.token.signed, { data, trusted })
  return signature.ok ? `ok by ${signature.by}` : `signature: ${signature.message}`
}

test('a token counts that answers the request, for its bytes, under a nonce of any form, signed by one who may (LOG-32)', async () => {
  assert.is(await judged(), 'ok by tsa.test')
  for (const nonce of [
    '0000000000000000',
    '00ff000000000000',
    'ffffffffffffffff',
    '007f000000000001',
    '8000000000000000',
  ]) {
    const { bytes, ...asked } = request(Buffer.from(nonce, 'hex'))
    assert.ok(readTimestampReply(await authority.answer(bytes), asked).ok, nonce)
  }
})

test('a token that is for other bytes, another request, rejected, by a stranger or broken is refused, and says so (A240)', async () => {
  const refused: readonly (readonly [RegExp, StampingTwist])[] = [
    [/^wrong-imprint/, { digest: sha256(Buffer.from('other')) }],
    [/^wrong-imprint/, { digest: digest.subarray(0, 31) }],
    [/^wrong-nonce/, { nonce: new Integer({ value: 7 }) }],
    [/^wrong-nonce/, { nonce: null }],
    [/^rejected: .*status 2 "the clock is\\u0000 off"/, { status: 2 }],
    [/^signature/, { brokenSignature: true }],
    [/^signature/, { foreignCertificate: true }],
    [/^signature: .*ESSCertID/, { withoutEssId: true }],
    // Its own certificate had not begun.
    [/^signature/, { time: new Date('2019-01-01T00:00:00Z') }],
  ]
  for (const [pattern, twist] of refused) assert.match(await judged(twist), pattern, JSON.stringify(twist))

  const { bytes, ...asked } = request()
  const strangers = readAuthorities((await stampingAuthority()).ca)
  const read = readTimestampReply(await authority.answer(bytes), asked)
  assert.ok(read.ok)
  const checked = async (more: object) => (await checkTokenSignature(read.token.signed, { data, ...more })).ok
  assert.is(await checked({}), true)
  assert.is(await checked({ trusted: strangers }), false)
  assert.is(await checked({ trusted: [] }), false)
  assert.is(await checked({ data: Buffer.from('other') }), false)

  // A certificate for servers signs no times.
  const server = await stampingAuthority('1.3.6.1.5.5.7.3.1')
  const ofServer = readTimestampReply(await server.answer(bytes), asked)
  assert.ok(ofServer.ok)
  const signature = await checkTokenSignature(ofServer.token.signed, { data, trusted: readAuthorities(server.ca) })
  assert.match(signature.ok ? '' : signature.message, /time-stamping/)
})

test('what is no DER, cut, longer, nested or altered at any byte is refused without an exception (A241)', async () => {
  const malformed = /^(malformed|rejected|wrong-imprint|wrong-nonce|signature)/
  assert.match(await judged({}, () => Buffer.from('<html>busy</html>')), /^malformed/)
  assert.match(await judged({}, () => Buffer.alloc(0)), /^malformed/)
  assert.match(await judged({}, (reply) => Buffer.concat([reply, Buffer.of(0)])), /^malformed/)
  assert.match(await judged({}, () => Buffer.alloc(20_000, 0x30)), /^malformed: .*more than 16384/)
  assert.match(await judged({}, () => nested(7_000)), /^malformed: .*nested/)
  assert.match(await judged({}, () => Buffer.alloc(16_000, Buffer.from('3080', 'hex'))), /^malformed/)
  const { bytes, ...asked } = request()
  const reply = await authority.answer(bytes)
  for (let cut = 0; cut < reply.length; cut += 7)
    assert.is(readTimestampReply(reply.subarray(0, cut), asked).ok, false, `cut at ${cut}`)
  const random = seededRandom(testSeed(240))
  for (let n = 0; n < 60; n += 1) {
    const at = Math.floor(random() * reply.length)
    const altered = Buffer.from(reply)
    altered.writeUInt8(altered.readUInt8(at) ^ (1 << Math.floor(random() * 8)), at)
    const read = readTimestampReply(altered, asked)
    if (!read.ok) continue
    const signature = await checkTokenSignature(read.token.signed, { data, trusted })
    // A bit of a part that nothing signs, such as an unused parameter, may be another.
    if (signature.ok) assert.equal(read.token.digest, Uint8Array.from(digest), `byte ${at}`)
    else assert.match(`signature: ${signature.message}`, malformed)
  }
})

/** Sequences in one another, with lengths that fit. */
function nested(depth: number): Buffer {
  let bytes = Buffer.alloc(0)
  for (let n = 0; n < depth && bytes.length < 16_000; n += 1) {
    const head =
      bytes.length < 128 ? Buffer.of(0x30, bytes.length) : Buffer.of(0x30, 0x82, bytes.length >> 8, bytes.length & 255)
    bytes = Buffer.concat([head, bytes])
  }
  return bytes
}

test('a file of authorities holds certificates in PEM, or says that it does not', () => {
  assert.is(readAuthorities(`${authority.ca}\n${authority.ca}`).length, 2)
  assert.throws(() => readAuthorities('no certificate'), /no certificate in PEM/)
  assert.throws(() => readAuthorities('-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----'))
})

test.run()
