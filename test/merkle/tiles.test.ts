import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ENTRY_MAX_BYTES, formatEntryBundle, parseEntryBundle } from '../../src/merkle/entry-bundle.ts'
import { parseTilePath, type TileId, tilePath, tileWidth } from '../../src/merkle/tile-path.ts'

const test = suite('merkle: tiles and entry bundles')

test('paths are those of the C2SP text', () => {
  const cases: readonly (readonly [TileId, string])[] = [
    [{ level: 0, index: 0, width: 256 }, 'tile/0/000'],
    [{ level: 0, index: 1234067, width: 256 }, 'tile/0/x001/x234/067'],
    [{ level: 'entries', index: 1234067, width: 8 }, 'tile/entries/x001/x234/067.p/8'],
    [{ level: 63, index: 999, width: 255 }, 'tile/63/999.p/255'],
    [{ level: 1, index: 1000, width: 1 }, 'tile/1/x001/000.p/1'],
    [{ level: 0, index: Number.MAX_SAFE_INTEGER, width: 256 }, 'tile/0/x009/x007/x199/x254/x740/991'],
  ]
  for (const [tile, path] of cases) {
    assert.is(tilePath(tile), path)
    assert.equal(parseTilePath(path), tile)
  }
})

test('every tile has one path, and no other text is a path', () => {
  const wrong = [
    '',
    'tile/0',
    'tile/0/',
    'tile/00/000',
    'tile/01/000',
    'tile/64/000',
    'tile/-1/000',
    'tile/0/0',
    'tile/0/00',
    'tile/0/0000',
    'tile/0/x000/000',
    'tile/0/x000/001',
    'tile/0/001/002',
    'tile/0/x001',
    'tile/0/X001/002',
    'tile/0/x001//002',
    'tile/0/000.p/0',
    'tile/0/000.p/256',
    'tile/0/000.p/01',
    'tile/0/000.p/257',
    'tile/0/000.p/',
    'tile/0/000.p',
    'tile/0/000/p/1',
    'tile/entries',
    'tile/Entries/000',
    'tile/entries/000.p/1/',
    '/tile/0/000',
    'tile/0/000 ',
    'tile/0/000\n',
    'tile/0/../000',
    'tile/0/٠٠٠',
    'tile/0/x009/x999/x999/x999/x999/999',
  ]
  for (const path of wrong) assert.is(parseTilePath(path), undefined, path)
  const tile = fc.record({
    level: fc.oneof(fc.integer({ min: 0, max: 63 }), fc.constant('entries' as const)),
    index: fc.maxSafeNat(),
    width: fc.integer({ min: 1, max: 256 }),
  })
  fc.assert(fc.property(tile, (id) => JSON.stringify(parseTilePath(tilePath(id))) === JSON.stringify(id)))
})

test('widths are those of the C2SP example of 70,000 leaves', () => {
  assert.equal([tileWidth(0, 272, 70_000), tileWidth(0, 273, 70_000), tileWidth(0, 274, 70_000)], [256, 112, 0])
  assert.equal([tileWidth(1, 0, 70_000), tileWidth(1, 1, 70_000), tileWidth(2, 0, 70_000)], [256, 17, 1])
  assert.equal([tileWidth(0, 0, 256), tileWidth(1, 0, 256), tileWidth(2, 0, 256)], [256, 1, 0])
})

test('what is no tile has no path', () => {
  for (const tile of [
    { level: 64, index: 0, width: 1 },
    { level: 0, index: -1, width: 1 },
    { level: 0, index: 0, width: 0 },
    { level: 0, index: 0, width: 257 },
    { level: 0.5, index: 0, width: 1 },
  ]) {
    assert.throws(
      () => tilePath(tile),
      (error: unknown) => error instanceof RangeError,
    )
  }
})

test('a bundle is a big-endian length and an entry, again and again', () => {
  const bundle = formatEntryBundle(['', 'é', new Uint8Array(0x0102)])
  assert.equal([...bundle.subarray(0, 8)], [0, 0, 0, 2, 0xc3, 0xa9, 0x01, 0x02])
  assert.is(bundle.length, 2 + 4 + 2 + 0x0102)
  assert.equal(
    parseEntryBundle(bundle)?.map((entry) => entry.length),
    [0, 2, 0x0102],
  )
})

test('a bundle holds 1 to 256 entries of at most 65,535 bytes', () => {
  const longest = new Uint8Array(ENTRY_MAX_BYTES)
  assert.is(parseEntryBundle(formatEntryBundle([longest]))?.[0]?.length, ENTRY_MAX_BYTES)
  for (const entries of [[], new Array(257).fill('x'), [new Uint8Array(ENTRY_MAX_BYTES + 1)]]) {
    assert.throws(
      () => formatEntryBundle(entries),
      (error: unknown) => error instanceof RangeError,
    )
  }
})

test('a bundle that is cut or goes on is none', () => {
  const bundle = formatEntryBundle(['one', 'three'])
  const firstEnds = 5
  for (let length = 0; length < bundle.length; length += 1) {
    if (length !== firstEnds) assert.is(parseEntryBundle(bundle.subarray(0, length)), undefined, `${length}`)
  }
  assert.is(parseEntryBundle(Buffer.concat([bundle, Buffer.of(0)])), undefined)
  assert.is(parseEntryBundle(new Uint8Array(2 * 257)), undefined)
})

test.run()
