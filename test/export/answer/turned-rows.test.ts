import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { turned } from '../../../src/export/answer/turned-rows.ts'

const test = suite('export: rows of an answer in the other order')

test('rows are given the last one first, however few of them are kept at once', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(40), fc.integer({ min: 1, max: 9 }), async (count, kept) => {
      const rows = Array.from({ length: count }, (_, at) => at)
      const made = async function* () {
        yield* rows
      }
      const found: number[] = []
      for await (const row of turned(made, kept)) found.push(row)
      assert.equal(found, rows.reverse())
    }),
  )
})

test.run()
