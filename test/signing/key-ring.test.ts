import { hkdfSync } from 'node:crypto'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  createKeyRing,
  createRunKeys,
  currentKey,
  deriveRunKey,
  formatKeyRing,
  parseKeyRing,
  ringIndex,
  rotateKeyRing,
} from '../../src/signing/key-ring.ts'
import { NOW, seededRandom, testRing } from './fixtures.ts'
import { readVectors } from './vectors.ts'

const test = suite('key ring')
const LATER = '2026-02-02T00:00:00.000Z'

test('HKDF is that of RFC 5869, test case 3: no salt, no info', () => {
  const okm = Buffer.from(hkdfSync('sha256', Buffer.alloc(22, 0x0b), '', '', 42)).toString('hex')
  assert.is(okm, '8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8')
})

test('a run key is the one that another implementation derives (SEAL-6)', () => {
  const { secret, tenant, stream, runKey } = readVectors<Record<string, string>>('sealed-events.json')
  const derived = deriveRunKey(Buffer.from(secret ?? '', 'base64url'), tenant ?? '', stream ?? '')
  assert.is(Buffer.from(derived).toString('base64url'), runKey)
})

test('a run key is what the engine derives, from secrets of every length (SEAL-6)', () => {
  for (const bytes of [32, 33, 63, 64, 65, 1_024]) {
    const secret = seededRandom(String(bytes))(bytes)
    const info = 'countersign/run-key/v1\n["a","run-a.\u00e9"]'
    const derived = hkdfSync('sha256', secret, '', info, 32)
    assert.is(Buffer.compare(deriveRunKey(secret, 'a', 'run-a.\u00e9'), Buffer.from(derived)), 0)
  }
})

test('a run key is of one secret, one tenant and one stream', () => {
  const secret = seededRandom('s')(32)
  const keys = [
    deriveRunKey(secret, 'a', 'run-a.1'),
    deriveRunKey(secret, 'a', 'run-a.2'),
    deriveRunKey(secret, 'b', 'run-a.1'),
    deriveRunKey(secret, 'ar', 'un-a.1'),
    deriveRunKey(seededRandom('t')(32), 'a', 'run-a.1'),
  ]
  assert.is(new Set(keys.map((key) => Buffer.from(key).toString('hex'))).size, keys.length)
})

test('a secret shorter than 32 bytes derives nothing', () => {
  assert.throws(() => deriveRunKey(new Uint8Array(31), 'a', 'run-a.1'), isTypeError)
})

test('a rotation adds a key that seals; those before keep their place and say when they retired', () => {
  const ring = testRing()
  const rotated = rotateKeyRing(ring, LATER, seededRandom('more'))
  assert.is(rotated.keys.length, 2)
  assert.equal(rotated.keys[0], { ...currentKey(ring), retired: LATER })
  assert.is(currentKey(rotated).created, LATER)
  assert.is(currentKey(rotated).retired, undefined)
  assert.is(ringIndex(rotated, currentKey(ring).kid), 0)
  assert.is(ringIndex(rotated, currentKey(rotated).kid), 1)
})

test('names of prototypes are no keys', () => {
  const ring = testRing()
  for (const kid of ['__proto__', 'constructor', '', 'toString']) {
    assert.is(ringIndex(ring, kid), -1)
    assert.is(createRunKeys(ring).keyFor(kid, 'acme', 'run-acme.1'), undefined)
  }
})

test('a ring comes back from its text', () => {
  const ring = rotateKeyRing(testRing(), LATER, seededRandom('more'))
  assert.equal(parseKeyRing(formatKeyRing(ring)), ring)
})

test('a text that is no ring is refused, and the refusal repeats nothing of it', () => {
  const [key] = JSON.parse(formatKeyRing(testRing())) as Record<string, string>[]
  const canary = 'c2VjcmV0LWNhbmFyeQ'
  const bad = [
    canary,
    '[]',
    JSON.stringify([{ ...key, secret: canary }]),
    JSON.stringify([{ ...key, secret: `${key?.secret}=` }]),
    JSON.stringify([{ ...key, kid: `a b ${canary}` }]),
    JSON.stringify([{ ...key, kid: '' }]),
    JSON.stringify([{ ...key, kid: 'k'.repeat(65) }]),
    JSON.stringify([{ ...key, created: canary }]),
    JSON.stringify([key, key]),
    JSON.stringify([{ ...key, retired: LATER }]),
    JSON.stringify([{ ...key, extra: canary }]),
  ]
  for (const text of bad) {
    assert.throws(
      () => parseKeyRing(text),
      (error: unknown) => isTypeError(error) && !String(error).includes(canary),
    )
  }
})

test('run keys that fell out of the cache are derived again, the same', () => {
  const ring = createKeyRing(NOW, seededRandom('x'))
  const { kid } = currentKey(ring)
  const keys = createRunKeys(ring, { maxBytes: 2 * 1_024 })
  const hex = (stream: string) => keys.keyFor(kid, 'acme', stream)?.export().toString('hex')
  const first = hex('run-acme.0')
  for (let i = 1; i < 10; i++) assert.is.not(hex(`run-acme.${i}`), first)
  assert.is(hex('run-acme.0'), first)
})

function isTypeError(error: unknown): boolean {
  return error instanceof TypeError
}

test.run()
