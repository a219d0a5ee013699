import { createHmac } from 'node:crypto'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { RowMac } from '../../src/store/sqlite/row-mac.ts'

const test = suite('macs of the rows of sealed files')

const TEXTS = [
  '',
  '[1,"a"]',
  'é\u{1f600}',
  '\ud800 alone',
  'x'.repeat(21_000),
  'ö'.repeat(22_000),
  '\u{1f600}'.repeat(40_000),
]

test('are HMAC-SHA-256 under keys and over texts of every length, in any order', () => {
  for (const keyBytes of [0, 1, 32, 64, 65, 200]) {
    const key = Uint8Array.from({ length: keyBytes }, (_, at) => (at * 7) % 256)
    const mac = new RowMac(key)
    for (const text of [...TEXTS, ...[...TEXTS].reverse()]) {
      const expected = createHmac('sha256', key).update('events\n').update(text).digest('hex')
      assert.is(mac.of('events\n', text), BigInt(`0x${expected}`), `${keyBytes} bytes, ${text.length} characters`)
    }
  }
})

test.run()
