import { Readable } from 'node:stream'
import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { LineTooLong, type RawLine, rawLines, wholeLine } from '../../src/capture/lines.ts'
import { testSeed } from '../support/random.ts'

const lines = suite('capture: lines')

async function all(chunks: Iterable<Uint8Array>, maxBytes?: number): Promise<RawLine[]> {
  const found: RawLine[] = []
  for await (const line of rawLines(Readable.from(chunks), maxBytes)) found.push(line)
  return found
}

function* cut(bytes: Buffer, sizes: readonly number[]): Generator<Buffer, void> {
  let at = 0
  for (let turn = 0; at < bytes.length; turn += 1) {
    const end = at + (sizes[turn % sizes.length] ?? 1)
    yield bytes.subarray(at, end)
    at = end
  }
}

lines('bytes come out as they went in, wherever the stream is cut, whatever they are (CAP-1)', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ maxLength: 400 }),
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
      async (given, sizes) => {
        const bytes = Buffer.from(given.map((each) => (each % 7 === 0 ? 0x0a : each)))
        const found = await all(cut(bytes, sizes))
        assert.equal(Buffer.concat(found.map(wholeLine)), bytes)
        for (const line of found.slice(0, -1)) assert.is(wholeLine(line).indexOf(0x0a), line.bytes - 1)
      },
    ),
    { seed: testSeed(1), numRuns: 200 },
  )
})

lines('a line of 10 MB in small pieces takes memory for itself and no more, line after line', async () => {
  const piece = Buffer.alloc(64 * 1024, 0x61)
  const megabytes = 10 * 16
  const LINES = 40
  async function* source(): AsyncGenerator<Buffer, void> {
    for (let line = 0; line < LINES; line += 1) {
      for (let part = 0; part < megabytes; part += 1) yield Buffer.from(piece)
      yield Buffer.from('\n')
    }
  }
  let most = 0
  let count = 0
  for await (const line of rawLines(source())) {
    count += 1
    assert.is(line.bytes, megabytes * piece.length + 1)
    globalThis.gc?.()
    most = Math.max(most, process.memoryUsage().arrayBuffers)
  }
  assert.is(count, LINES)
  // The engine collects buffers when it likes: half of what went through is far more than one line and what awaits collection.
  const through = LINES * megabytes * piece.length
  assert.ok(most < through / 2, `${most} bytes of buffers for ${through} that went through`)
})

lines('a line without an end is given up at the limit, and said to be', async () => {
  await all([Buffer.alloc(100)], 50).then(
    () => assert.unreachable('it has to end'),
    (error: unknown) => assert.instance(error, LineTooLong),
  )
})

lines.run()
