import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ChangedContentError } from '../../../src/export/bundle/bundle-file.ts'
import { proofFiles } from '../../../src/export/bundle/proof-files.ts'
import { CompactTree } from '../../../src/merkle/compact-tree.ts'
import { HASH_BYTES, leafHash } from '../../../src/merkle/hashes.ts'
import { verifyInclusion } from '../../../src/merkle/inclusion.ts'
import { TILE_HEIGHT, TILE_WIDTH } from '../../../src/merkle/tile-path.ts'
import { parseTlogProof } from '../../../src/merkle/tlog-proof.ts'
import { digestText } from '../../../src/signing/digests.ts'

const test = suite('proof files of a bundle')

const TENANT = 'acme'
const NOTE = `origin\n1\n${Buffer.alloc(32).toString('base64')}\n\n— origin ${Buffer.alloc(68).toString('base64')}\n`

/** A log of so many leaves, whose tiles count how often they are read. */
function logOf(size: number) {
  const tiles = new Map<string, Uint8Array>()
  const tree = new CompactTree()
  for (let at = 0; at < size; at += 1) {
    tree.append(leafHash(`leaf ${at}`), (level, index, hash) => {
      if (level % TILE_HEIGHT !== 0) return
      const name = `${level / TILE_HEIGHT}/${Math.floor(index / TILE_WIDTH)}`
      tiles.set(name, Buffer.concat([tiles.get(name) ?? Buffer.alloc(0), hash]))
    })
  }
  const reads = { tiles: 0 }
  const leaves = {
    leafOf: (tenant: string, eventId: string) => {
      const index = Number(eventId.slice(1))
      const row = { tenant, index, stream: 'run-acme.r', revision: index, position: String(index), eventId }
      return index < size ? row : undefined
    },
    tile: (_: string, level: number, index: number) => {
      reads.tiles += 1
      return tiles.get(`${level}/${index}`)
    },
  }
  const pin = { tree: { size, root: digestText(tree.root()), eventId: null }, note: NOTE }
  return { leaves, pin, tiles, reads, root: tree.root() }
}

for (const size of [1, 2, 255, 256, 257, 700]) {
  test(`each event of a log of ${size} is proven against the root that is signed, and no hash of the tree is made twice (F215)`, () => {
    const { leaves, pin, reads, root } = logOf(size)
    const proofFile = proofFiles(leaves, TENANT, pin)
    for (let at = 0; at < size; at += 1) {
      const { index, hashes, checkpoint } = parseTlogProof(proofFile(`e${at}`)) ?? {}
      assert.equal([index, checkpoint], [at, NOTE])
      assert.ok(verifyInclusion({ index: at, size, leaf: leafHash(`leaf ${at}`), root, proof: hashes ?? [] }))
    }
    // A perfect tree of so many leaves has twice as many nodes.
    assert.ok(reads.tiles < 2 * size + 20, `${reads.tiles} reads of tiles`)
    assert.throws(() => proofFile(`e${size}`), 'does not cover')
  })
}

test('tiles of another tree than the one that is signed prove nothing (F215)', () => {
  const { leaves, pin, tiles } = logOf(300)
  tiles.set('0/0', new Uint8Array(TILE_WIDTH * HASH_BYTES).fill(7))
  tiles.set('1/0', new Uint8Array(HASH_BYTES).fill(7))
  assert.throws(
    () => proofFiles(leaves, TENANT, pin),
    (error: unknown) => error instanceof ChangedContentError,
  )
  tiles.delete('0/1')
  assert.throws(() => proofFiles(leaves, TENANT, pin), 'missing or too short')
})

test.run()
