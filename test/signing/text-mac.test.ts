import { createHmac, createSecretKey } from 'node:crypto'
import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { textMac, textMacHex } from '../../src/signing/digests.ts'
import { anyCharacter } from '../support/any-character.ts'

const test = suite('hmac')
const hex = (mac: string): string => Buffer.from(mac, 'base64url').toString('hex')

test('macs are those of RFC 4231, under short keys and keys longer than a block', () => {
  const cases = [
    ['Jefe', 'what do ya want for nothing?', '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843'],
    ['\u000b'.repeat(20), 'Hi There', 'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7'],
  ] as const
  for (const [secret, text, mac] of cases)
    assert.is(hex(textMac(text, createSecretKey(Buffer.from(secret, 'latin1')))), mac)
  const long = createSecretKey(Buffer.alloc(131, 0xaa))
  const text = 'Test Using Larger Than Block-Size Key - Hash Key First'
  assert.is(hex(textMac(text, long)), '60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54')
})

test('a mac is the one that the library makes, of any text under any key, whatever mac was made before it (F207)', () => {
  const text = fc.oneof(
    fc.string({ unit: anyCharacter }),
    fc.string({ unit: fc.constantFrom('a', 'é', '€', '\ud800', '\udc00') }),
  )
  const keyOf = (bytes: number) => createSecretKey(Buffer.alloc(bytes, bytes + 1))
  const keys = [0, 1, 32, 63, 64, 65, 200].map(keyOf)
  fc.assert(
    fc.property(text, fc.constantFrom(...keys), (value, key) => {
      const expected = createHmac('sha256', key).update(value).digest('base64url')
      assert.is(textMac(value, key), expected)
      assert.is(textMac(value, key.export()), expected)
    }),
  )
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: fc.constantFrom('a', 'é', '€', '😀') }), { minLength: 3, maxLength: 3 }),
      (pieces) => {
        const [first = '', ...more] = pieces
        assert.is(textMac(first, keyOf(32), ...more), textMac(pieces.join(''), keyOf(32)))
        assert.is(textMac(first, keyOf(32).export(), ...more), textMac(pieces.join(''), keyOf(32)))
      },
    ),
  )
  for (const length of [10_901, 10_902, 40_000])
    for (const unit of ['x', '€']) {
      const value = unit.repeat(length)
      assert.is(textMac(value, keyOf(32)), createHmac('sha256', keyOf(32)).update(value).digest('base64url'))
      assert.is(textMac('', keyOf(32), 'x', value), textMac(`x${value}`, keyOf(32)))
    }
})

test('a mac in hexadecimal digits is the one that the library makes, over a name and a text of any length, in any order', () => {
  const texts = [
    '',
    '[1,"a"]',
    'é\u{1f600}',
    '\ud800 alone',
    'x'.repeat(21_000),
    'ö'.repeat(22_000),
    '\u{1f600}'.repeat(40_000),
  ]
  for (const keyBytes of [0, 1, 32, 64, 65, 200]) {
    const key = createSecretKey(Uint8Array.from({ length: keyBytes }, (_, at) => (at * 7) % 256))
    for (const text of [...texts, ...texts.toReversed()]) {
      const expected = createHmac('sha256', key).update('events\n').update(text).digest('hex')
      assert.is(textMacHex('events\n', key, text), expected, `${keyBytes} bytes, ${text.length} characters`)
    }
  }
})

test.run()
