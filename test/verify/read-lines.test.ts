import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type Line, readLines } from '../../src/verify/read-lines.ts'

const lines = suite('read lines')

async function* portions(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1
    yield bytes.subarray(at, at + size)
    at += size
  }
}

async function collect(text: string, sizes: readonly number[], maxBytes = 1_000): Promise<readonly Line[]> {
  const all: Line[] = []
  for await (const group of readLines(portions(Buffer.from(text), sizes), maxBytes)) all.push(...group)
  return all
}

lines('any text in any portions gives its lines, numbered, with their ends', async () => {
  const text = fc.array(fc.string({ unit: fc.constantFrom('a', 'ü', '\n', '\r', '🚀') })).map((parts) => parts.join(''))
  const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(text, sizes, async (whole, portionSizes) => {
      const found = await collect(whole, portionSizes)
      const rebuilt = found.map(({ bytes, ended }) => `${bytes.toString()}${ended ? '\n' : ''}`).join('')
      assert.is(rebuilt, whole)
      assert.equal(
        found.map(({ number }) => number),
        found.map((_, index) => index + 1),
      )
      assert.ok(found.every(({ tooLong }) => !tooLong))
    }),
  )
})

lines('a line beyond the limit is cut and marked, and the next one is whole', async () => {
  const [long, next] = await collect(`${'x'.repeat(500)}\nshort\n`, [7], 100)
  assert.is(long?.tooLong, true)
  assert.is(long?.bytes.length, 100)
  assert.is(next?.bytes.toString(), 'short')
  assert.is(next?.tooLong, false)
})

lines.run()
