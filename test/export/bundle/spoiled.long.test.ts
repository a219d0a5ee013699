import { readFileSync, writeFileSync } from 'node:fs'
import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { verifyBundle } from '../../../src/verify/bundle/verify-bundle.ts'
import { writeBundle } from '../../support/bundles.ts'
import { rounds } from '../../support/rounds.ts'
import { tempFolder } from '../../support/temp-folder.ts'
import { testLogs } from '../../support/test-logs.ts'

const test = suite('export: spoiled bundles, at length')
const RUNS = rounds(800, 800, 3_000)

test('any change of a bundle, of any size and at any place, is seen', async () => {
  using folder = tempFolder()
  await using home = await testLogs()
  await home.fill('acme', 'one', 20)
  await home.fill('acme', 'two', 10)
  const file = folder.file('b.tar')
  await writeBundle(home.ledger, file, { query: { run: 'one' } })
  const key = home.logs.verifierKey('acme')
  const whole = readFileSync(file)
  const place = fc.nat(whole.length - 1)
  const change = fc.oneof(
    fc.record({ kind: fc.constant('flip' as const), at: place, bits: fc.integer({ min: 1, max: 255 }) }),
    fc.record({ kind: fc.constant('cut' as const), at: place }),
    fc.record({ kind: fc.constant('drop' as const), at: place, length: fc.integer({ min: 1, max: 2_000 }) }),
    fc.record({
      kind: fc.constant('insert' as const),
      at: place,
      bytes: fc.uint8Array({ minLength: 1, maxLength: 600 }),
    }),
    fc.record({ kind: fc.constant('move' as const), at: place, to: place, length: fc.integer({ min: 1, max: 1_024 }) }),
  )
  fc.assert(
    fc.property(change, (changed) => {
      const tar = apply(whole, changed)
      if (tar.equals(whole)) return
      writeFileSync(folder.file('spoiled.tar'), tar)
      const { verdict, faults } = verifyBundle(folder.file('spoiled.tar'), { key })
      assert.ok(verdict === 'TAMPERED' || verdict === 'INCOMPLETE', JSON.stringify(changed))
      assert.ok(faults.length > 0)
    }),
    { numRuns: RUNS },
  )
})

type Change =
  | { readonly kind: 'flip'; readonly at: number; readonly bits: number }
  | { readonly kind: 'cut'; readonly at: number }
  | { readonly kind: 'drop'; readonly at: number; readonly length: number }
  | { readonly kind: 'insert'; readonly at: number; readonly bytes: Uint8Array }
  | { readonly kind: 'move'; readonly at: number; readonly to: number; readonly length: number }

function apply(tar: Buffer, change: Change): Buffer {
  const { at } = change
  const [before, after] = [tar.subarray(0, at), tar.subarray(at)]
  switch (change.kind) {
    case 'flip': {
      const flipped = Buffer.from(tar)
      flipped[at] = (flipped[at] ?? 0) ^ change.bits
      return flipped
    }
    case 'cut':
      return before
    case 'drop':
      return Buffer.concat([before, after.subarray(change.length)])
    case 'insert':
      return Buffer.concat([before, change.bytes, after])
    case 'move': {
      const moved = Buffer.from(tar)
      moved.set(tar.subarray(change.to, change.to + change.length).subarray(0, tar.length - at), at)
      return moved
    }
  }
}

test.run()
