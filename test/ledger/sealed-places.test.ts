import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { RingSealedPlaces } from '../../src/ledger/read/sealed-places.ts'
import { createKeyRing, currentKey, type KeyRing, rotateKeyRing } from '../../src/signing/key-ring.ts'
import { anyCharacter } from '../support/any-character.ts'

const test = suite('ledger: places that callers carry')

const NOW = '2026-01-01T00:00:00.000Z'
let made = 0
const random = (bytes: number): Uint8Array => {
  made += 1
  return Buffer.alloc(bytes, made)
}
const first = createKeyRing(NOW, random)
const rotated = rotateKeyRing(first, NOW, random)

const placesOf = (ring: KeyRing, kid = currentKey(ring).kid, later = ring): RingSealedPlaces => {
  const sealer = {
    ring,
    kid,
    reload: (): void => {
      sealer.ring = later
    },
  }
  return new RingSealedPlaces(sealer)
}

test('what is sealed is opened under its name alone, by every process of the ring, and the same text makes the same bytes (A85)', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), fc.string(), fc.string(), (text, name, other) => {
      const [one, two] = [placesOf(first), placesOf(first)]
      const sealed = one.seal(name, text)
      assert.is(two.open(name, sealed), text)
      assert.is(two.seal(name, text), sealed)
      if (other !== name) assert.is(two.open(other, sealed), undefined)
    }),
  )
})

test('one bit turned, a piece cut or added, or another ring, and nothing is opened (A85)', () => {
  const places = placesOf(rotated)
  const sealed = places.seal('n', '["12","x"]')
  const bytes = Buffer.from(sealed, 'base64url')
  for (let bit = 0; bit < 8 * bytes.length; bit += 1) {
    const bent = bytes.with(bit >> 3, (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7)))
    assert.is(places.open('n', Buffer.from(bent).toString('base64url')), undefined, `bit ${bit}`)
  }
  for (let at = 0; at < bytes.length; at += 1) {
    assert.is(places.open('n', bytes.subarray(0, at).toString('base64url')), undefined)
    assert.is(places.open('n', bytes.subarray(at + 1).toString('base64url')), undefined)
  }
  assert.is(places.open('n', `${sealed}AAAA`), undefined)
  assert.is(placesOf(rotateKeyRing(createKeyRing(NOW, random), NOW, random)).open('n', sealed), undefined)
})

test('after a rotation old places are still read, and new ones by a process that has not heard of it (A85)', () => {
  const old = placesOf(first).seal('n', 'old')
  assert.is(placesOf(rotated).open('n', old), 'old')
  const fresh = placesOf(rotated).seal('n', 'new')
  assert.is(placesOf(first, currentKey(first).kid, rotated).open('n', fresh), 'new')
  assert.is(placesOf(first).open('n', fresh), undefined)
})

test('a text shows nothing but its length (A66)', () => {
  const places = placesOf(first)
  const length = places.seal('n', '1'.padEnd(48)).length
  for (const position of ['12', '123456789', '9'.repeat(20)]) {
    const sealed = places.seal('n', position.padEnd(48))
    assert.is(sealed.length, length)
    assert.not.ok(Buffer.from(sealed, 'base64url').toString('latin1').includes(position))
  }
})

test.run()
