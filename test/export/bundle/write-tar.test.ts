import { buffer } from 'node:stream/consumers'
import * as fc from 'fast-check'
import { pack } from 'tar-stream'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type BundleFile, textFile } from '../../../src/export/bundle/bundle-file.ts'
import { tarChunks } from '../../../src/export/bundle/write-tar.ts'

const test = suite('export: tar')

async function collect<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

/** A file whose content knows how often it was opened and closed. */
function watchedFile(name: string, portions: readonly string[]): BundleFile & { readonly open: () => number } {
  let open = 0
  const { size, sha256 } = textFile(name, portions.join(''))
  const content = async function* (): AsyncGenerator<Uint8Array, void> {
    open += 1
    try {
      for (const portion of portions) yield Buffer.from(portion)
    } finally {
      open -= 1
    }
  }
  return { name, size, sha256, content, open: () => open }
}

test('the bytes are those of another writer of tars', async () => {
  const names = fc.uniqueArray(fc.stringMatching(/^[a-z0-9][a-z0-9./-]{0,99}$/), { minLength: 1, maxLength: 5 })
  await fc.assert(
    fc.asyncProperty(names, fc.infiniteStream(fc.nat(3_000)), async (unsorted, sizes) => {
      const files = unsorted.sort().map((name) => textFile(name, 'x'.repeat(sizes.next().value ?? 0)))
      const reference = pack()
      for (const { name, content } of files) {
        const header = { name, mode: 0o644, mtime: new Date(0), type: 'file', uid: 0, gid: 0 } as const
        reference.entry(header, Buffer.concat([...(content() as Iterable<Uint8Array>)]))
      }
      reference.finalize()
      assert.equal(Buffer.concat(await collect(tarChunks(files))), await buffer(reference as never))
    }),
    { numRuns: 60 },
  )
})

test('a reader that leaves at any portion leaves no file open and no promise behind (F31)', async () => {
  const unhandled: unknown[] = []
  const note = (error: unknown): void => {
    unhandled.push(error)
  }
  process.on('unhandledRejection', note)
  const portions = ['a'.repeat(70_000), 'b'.repeat(70_000), 'c']
  const all = (await collect(tarChunks([watchedFile('one', portions), watchedFile('two', portions)]))).length
  for (let taken = 0; taken <= all; taken += 1) {
    const files = [watchedFile('one', portions), watchedFile('two', portions)]
    const chunks = tarChunks(files)
    for (let n = 0; n < taken; n += 1) await chunks.next()
    await chunks.return()
    assert.equal(
      files.map((file) => file.open()),
      [0, 0],
      `after ${taken}`,
    )
  }
  await new Promise((resolve) => setImmediate(resolve))
  process.off('unhandledRejection', note)
  assert.equal(unhandled, [])
})

test('content that is not as long as was announced, and what ustar cannot describe, is refused by name', async () => {
  const rejected = async (file: BundleFile, message: RegExp): Promise<void> => {
    const error = await collect(tarChunks([file])).then(
      () => undefined,
      (reason: unknown) => reason,
    )
    assert.instance(error, RangeError)
    assert.match(String(error), message)
  }
  await rejected({ ...textFile('a', 'abc'), size: 4 }, /a holds 3 bytes, where its header says 4/)
  await rejected({ ...textFile('a', 'abc'), size: 8 ** 11 }, /8589934591/)
  await rejected(textFile('n'.repeat(101), ''), /is no name for a tar/)
  await rejected(textFile('ä', ''), /is no name for a tar/)
})

test.run()
