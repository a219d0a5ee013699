import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { leafHash } from '../../src/merkle/hashes.ts'
import { dataDigest, digestText, jsonDigest, recordDigest, sha256, sha256Hex } from '../../src/signing/digests.ts'

const test = suite('digests')
const EMPTY = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

test('SHA-256 of nothing and of abc are those of FIPS 180-4', () => {
  assert.is(sha256Hex(''), EMPTY)
  assert.is(sha256Hex('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
  assert.is(digestText(sha256(new Uint8Array(0))), `sha256:${EMPTY}`)
})

test('the leaf of nothing is that of RFC 6962, as text or as bytes', () => {
  const leaf = '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d'
  assert.is(Buffer.from(leafHash('')).toString('hex'), leaf)
  assert.is(Buffer.from(leafHash(new Uint8Array(0))).toString('hex'), leaf)
})

test('a leaf is the same from text and from bytes, and names the record (SEAL-2)', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const leaf = leafHash(Buffer.from(text, 'utf8'))
      assert.equal([...leafHash(text)], [...leaf])
      assert.is(recordDigest(text), digestText(leaf))
    }),
  )
})

test('the digest of a record is the leaf of its text, however long it is (SEAL-2)', () => {
  for (const unit of ['x', '€'])
    for (const length of [21_844, 21_845, 21_846, 40_000])
      assert.is(recordDigest(unit.repeat(length)), digestText(leafHash(Buffer.from(unit.repeat(length)))))
})

test('a leaf is no plain hash: the prefix sets it apart', () => {
  assert.is.not(digestText(leafHash('x')), `sha256:${sha256Hex('x')}`)
})

test('the digest of a body covers salt and text, short or long (REC-10)', () => {
  const salt = Buffer.alloc(16, 7)
  for (const data of ['', '{"a":"ä€😀"}', 'x'.repeat(21_840), '€'.repeat(21_900), 'x'.repeat(600_000)]) {
    const expected = createHash('sha256').update(salt).update(data).digest('hex')
    assert.is(dataDigest(salt, data), `sha256:${expected}`)
    assert.is.not(dataDigest(Buffer.alloc(16, 8), data), `sha256:${expected}`)
  }
})

test('a digest of JSON does not depend on the order of keys', () => {
  assert.is(jsonDigest({ b: 1, a: [2] }), jsonDigest({ a: [2], b: 1 }))
  assert.is(jsonDigest({}), `sha256:${sha256Hex('{}')}`)
})

test.run()
