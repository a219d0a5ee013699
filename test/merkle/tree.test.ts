import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { CompactTree } from '../../src/merkle/compact-tree.ts'
import { proveConsistency, verifyConsistency } from '../../src/merkle/consistency.ts'
import { emptyRoot, leafHash, nodeHash } from '../../src/merkle/hashes.ts'
import { proveInclusion, verifyInclusion } from '../../src/merkle/inclusion.ts'
import type { HashReader } from '../../src/merkle/subtrees.ts'
import { tileHashReader } from '../../src/merkle/tile-hashes.ts'
import { TILE_HEIGHT, TILE_WIDTH } from '../../src/merkle/tile-path.ts'
import { rounds } from '../support/rounds.ts'
import { CONSISTENCY, EMPTY_ROOT, INCLUSION, LEAVES, numberedLeaves, ROOTS } from './vectors.ts'

const test = suite('merkle: trees and proofs')

/** RFC 6962 section 2.1 word for word: slow, and shares nothing with what is tested but the two hashes. */
function rootFromScratch(leaves: readonly Uint8Array[]): Uint8Array {
  const [only] = leaves
  if (only === undefined) return EMPTY_ROOT
  if (leaves.length === 1) return only
  let split = 1
  while (split * 2 < leaves.length) split *= 2
  return nodeHash(rootFromScratch(leaves.slice(0, split)), rootFromScratch(leaves.slice(split)))
}

interface Grown {
  readonly roots: readonly Uint8Array[]
  readonly read: HashReader
}

/** A tree grown leaf by leaf; its hashes are kept in tiles alone. */
function grow(leaves: readonly Uint8Array[]): Grown {
  const tiles = new Map<string, Uint8Array[]>()
  const tree = new CompactTree()
  const roots = [tree.root()]
  for (const leaf of leaves) {
    tree.append(leaf, (level, index, hash) => {
      if (level % TILE_HEIGHT !== 0) return
      const name = `${level / TILE_HEIGHT}/${Math.floor(index / TILE_WIDTH)}`
      tiles.set(name, [...(tiles.get(name) ?? []), hash])
    })
    roots.push(tree.root())
  }
  const bytes = new Map([...tiles].map(([name, hashes]) => [name, Buffer.concat(hashes)]))
  return { roots, read: tileHashReader((level, index) => bytes.get(`${level}/${index}`)) }
}

const at = <T>(items: readonly T[], index: number): T => {
  const item = items[index]
  if (item === undefined) throw new RangeError(`nothing at ${index}`)
  return item
}

test('roots are those of the published tree of eight leaves', () => {
  const { roots } = grow(LEAVES.map(leafHash))
  assert.equal(Buffer.from(emptyRoot()), EMPTY_ROOT)
  assert.equal(
    roots.map((root) => Buffer.from(root)),
    [EMPTY_ROOT, ...ROOTS],
  )
})

test('inclusion proofs are the published ones, and verify', () => {
  const { read } = grow(LEAVES.map(leafHash))
  for (const [index, size, proof] of INCLUSION) {
    assert.equal(
      proveInclusion(index, size, read).map((hash) => Buffer.from(hash)),
      proof,
    )
    const claim = { index, size, leaf: leafHash(at(LEAVES, index)), proof, root: at(ROOTS, size - 1) }
    assert.ok(verifyInclusion(claim))
  }
})

test('consistency proofs are the published ones, and verify', () => {
  const { read } = grow(LEAVES.map(leafHash))
  for (const [from, to, proof] of CONSISTENCY) {
    assert.equal(
      proveConsistency(from, to, read).map((hash) => Buffer.from(hash)),
      proof,
    )
    assert.ok(verifyConsistency({ from, fromRoot: at(ROOTS, from - 1), to, toRoot: at(ROOTS, to - 1), proof }))
  }
})

const COUNT = 1_000
/** Sizes and places in between are left to the long suite. */
const STEP = rounds(7, 1)
const all = numberedLeaves(COUNT)
const grown = grow(all)

test('the tree that grows is the tree from scratch, at sizes up to 1,000', () => {
  for (let size = 0; size <= COUNT; size += STEP) {
    assert.ok(Buffer.compare(at(grown.roots, size), rootFromScratch(all.slice(0, size))) === 0, `size ${size}`)
  }
})

test('a tree read back at any size grows on to the same root', () => {
  for (let size = 0; size <= COUNT; size += 37) {
    const tree = CompactTree.of(size, grown.read)
    assert.ok(Buffer.compare(tree.root(), at(grown.roots, size)) === 0)
    for (const leaf of all.slice(size)) tree.append(leaf)
    assert.ok(Buffer.compare(tree.root(), at(grown.roots, COUNT)) === 0)
  }
})

test('inclusion proofs of a tree of 1,000 leaves verify, and of smaller trees those of their ends', () => {
  const holds = (index: number, size: number): boolean =>
    verifyInclusion({
      index,
      size,
      leaf: at(all, index),
      proof: proveInclusion(index, size, grown.read),
      root: at(grown.roots, size),
    })
  for (let index = 0; index < COUNT; index += STEP) assert.ok(holds(index, COUNT), `leaf ${index} of ${COUNT}`)
  for (let size = 1; size <= COUNT; size += STEP) {
    for (const index of new Set([0, Math.floor(size / 2), size - 1]))
      assert.ok(holds(index, size), `leaf ${index} of ${size}`)
  }
})

test('consistency proofs up to 1,000 leaves verify: to each size from each earlier one of a sample, and to the last', () => {
  const holds = (from: number, to: number): boolean =>
    verifyConsistency({
      from,
      fromRoot: at(grown.roots, from),
      to,
      toRoot: at(grown.roots, to),
      proof: proveConsistency(from, to, grown.read),
    })
  for (let from = 0; from <= COUNT; from += STEP) assert.ok(holds(from, COUNT), `${from} to ${COUNT}`)
  for (let to = 1; to <= COUNT; to += STEP) {
    for (const from of new Set([0, 1, Math.floor(to / 2), to - 1, to])) assert.ok(holds(from, to), `${from} to ${to}`)
  }
})

test('any pair of sizes: the proofs of one tree verify in it and in no tree with another leaf', () => {
  const place = fc
    .integer({ min: 1, max: COUNT })
    .chain((to) => fc.tuple(fc.integer({ min: 1, max: to }), fc.constant(to)))
  fc.assert(
    fc.property(place, ([from, to]) => {
      const proof = proveConsistency(from, to, grown.read)
      const claim = { from, fromRoot: at(grown.roots, from), to, toRoot: at(grown.roots, to), proof }
      const other = grow([...all.slice(0, from - 1), leafHash('another'), ...all.slice(from, to)])
      return (
        verifyConsistency(claim) &&
        !verifyConsistency({ ...claim, fromRoot: at(other.roots, from) }) &&
        !verifyConsistency({ ...claim, toRoot: at(other.roots, to) })
      )
    }),
    { numRuns: 20 },
  )
})

/** Every single bit of one byte in turn, for each byte of each hash. */
function* mutations(hashes: readonly Uint8Array[]): Generator<readonly Uint8Array[]> {
  for (const [i, hash] of hashes.entries()) {
    for (let byte = 0; byte < hash.length; byte += 1) {
      const changed = Uint8Array.from(hash)
      changed[byte] = at([...changed], byte) ^ (1 << (byte % 8))
      yield hashes.with(i, changed)
    }
  }
}

const some = leafHash('some')
const shapes = (proof: readonly Uint8Array[], roots: readonly Uint8Array[]): readonly (readonly Uint8Array[])[] => [
  proof.slice(1),
  proof.slice(0, -1),
  [...proof, some],
  [some, ...proof],
  [...proof, ...roots],
  [...roots, ...proof],
  // The middle skipped: an early log of another maker took this.
  proof.filter((_, i) => i !== Math.floor(proof.length / 2)),
  proof.toReversed(),
  [...proof, new Uint8Array(0)],
  proof.map((hash) => hash.subarray(1)),
]

const SIZES = [2, 3, 7, 8, 9, 255, 256, 257, 511, 512, 513, 1_000]

test('no changed, missing, added or reordered byte of an inclusion proof passes (A34)', () => {
  for (const size of SIZES) {
    for (const index of new Set([0, 1, Math.floor(size / 2), size - 2, size - 1].filter((i) => i >= 0))) {
      const proof = proveInclusion(index, size, grown.read)
      const claim = { index, size, leaf: at(all, index), proof, root: at(grown.roots, size) }
      const same = (other: readonly Uint8Array[]) =>
        Buffer.concat(other).equals(Buffer.concat(proof)) && other.length === proof.length
      assert.ok(verifyInclusion(claim))
      for (const wrong of [...mutations(proof), ...shapes(proof, [claim.root])]) {
        if (!same(wrong)) assert.not(verifyInclusion({ ...claim, proof: wrong }))
      }
      for (const wrong of mutations([claim.leaf])) assert.not(verifyInclusion({ ...claim, leaf: at(wrong, 0) }))
      for (const wrong of mutations([claim.root])) assert.not(verifyInclusion({ ...claim, root: at(wrong, 0) }))
      for (const other of [index - 1, index + 1, index + size, index / 2 + 0.25, -1, Number.NaN]) {
        assert.not(verifyInclusion({ ...claim, index: other }), `${other} for ${index} of ${size}`)
      }
      for (const other of [0, 2 * size, 2 ** 53, Number.POSITIVE_INFINITY])
        assert.not(verifyInclusion({ ...claim, size: other }))
    }
  }
})

test('no changed, missing, added or reordered byte of a consistency proof passes (A34)', () => {
  for (const to of SIZES) {
    for (const from of new Set([1, 2, Math.floor(to / 2), to - 1].filter((size) => size > 0 && size < to))) {
      const proof = proveConsistency(from, to, grown.read)
      const [fromRoot, toRoot] = [at(grown.roots, from), at(grown.roots, to)]
      const claim = { from, fromRoot, to, toRoot, proof }
      const same = (other: readonly Uint8Array[]) =>
        Buffer.concat(other).equals(Buffer.concat(proof)) && other.length === proof.length
      assert.ok(verifyConsistency(claim))
      for (const wrong of [...mutations(proof), ...shapes(proof, [fromRoot, toRoot])]) {
        if (!same(wrong)) assert.not(verifyConsistency({ ...claim, proof: wrong }))
      }
      for (const wrong of mutations([fromRoot])) assert.not(verifyConsistency({ ...claim, fromRoot: at(wrong, 0) }))
      for (const wrong of mutations([toRoot])) assert.not(verifyConsistency({ ...claim, toRoot: at(wrong, 0) }))
      assert.not(verifyConsistency({ ...claim, fromRoot: toRoot, toRoot: fromRoot }))
      for (const other of [from - 1, from + 1, -1, Number.NaN]) assert.not(verifyConsistency({ ...claim, from: other }))
      for (const other of [from - 1, 2 * to, 2 ** 53]) assert.not(verifyConsistency({ ...claim, to: other }))
    }
  }
})

test('a leaf passed off as an inner node, or a node as a leaf, is in no tree (A34)', () => {
  const [left, right] = [at(all, 0), at(all, 1)]
  const forged = leafHash(Buffer.concat([left, right]))
  assert.not.equal(Buffer.from(forged), Buffer.from(nodeHash(left, right)))
  const claim = { index: 0, size: 2, leaf: nodeHash(left, right), proof: [], root: at(grown.roots, 2) }
  assert.not(verifyInclusion(claim))
  assert.not(verifyInclusion({ ...claim, size: 1, root: at(grown.roots, 1) }))
})

test('sizes that are always or never consistent are judged as RFC 9162 has it', () => {
  const [fromRoot, toRoot] = [at(grown.roots, 1), at(grown.roots, 2)]
  assert.ok(verifyConsistency({ from: 0, fromRoot: EMPTY_ROOT, to: 0, toRoot: EMPTY_ROOT, proof: [] }))
  assert.ok(verifyConsistency({ from: 0, fromRoot: EMPTY_ROOT, to: 1, toRoot: fromRoot, proof: [] }))
  assert.ok(verifyConsistency({ from: 1, fromRoot, to: 1, toRoot: fromRoot, proof: [] }))
  assert.not(verifyConsistency({ from: 0, fromRoot: some, to: 1, toRoot: fromRoot, proof: [] }))
  assert.not(verifyConsistency({ from: 1, fromRoot, to: 0, toRoot: EMPTY_ROOT, proof: [] }))
  assert.not(verifyConsistency({ from: 1, fromRoot, to: 2, toRoot, proof: [] }))
  assert.not(verifyConsistency({ from: 1, fromRoot, to: 1, toRoot: fromRoot, proof: [some] }))
  assert.not(verifyConsistency({ from: 0, fromRoot: EMPTY_ROOT, to: 1, toRoot: fromRoot, proof: [some] }))
})

test('a proof that a tree cannot give is refused where it is made', () => {
  for (const [index, size] of [
    [1, 1],
    [0, 0],
    [-1, 2],
    [0.5, 2],
  ] as const) {
    assert.throws(
      () => proveInclusion(index, size, grown.read),
      (error: unknown) => error instanceof RangeError,
    )
  }
  assert.throws(
    () => proveConsistency(2, 1, grown.read),
    (error: unknown) => error instanceof RangeError,
  )
  assert.throws(
    () => proveInclusion(0, COUNT + 300, grown.read),
    (error: unknown) => error instanceof RangeError,
  )
})

test.run()
