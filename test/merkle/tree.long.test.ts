import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { CompactTree } from '../../src/merkle/compact-tree.ts'
import { proveConsistency, verifyConsistency } from '../../src/merkle/consistency.ts'
import { proveInclusion, verifyInclusion } from '../../src/merkle/inclusion.ts'
import type { HashReader } from '../../src/merkle/subtrees.ts'
import { numberedLeaves } from './vectors.ts'

const test = suite('merkle: every proof up to 1,000 leaves')

const COUNT = 1_000
const leaves = numberedLeaves(COUNT)
const nodes = new Map<string, Uint8Array>()
const tree = new CompactTree()
const roots = [tree.root()]
for (const leaf of leaves) {
  tree.append(leaf, (level, index, hash) => nodes.set(`${level}/${index}`, hash))
  roots.push(tree.root())
}

const given = (hash: Uint8Array | undefined): Uint8Array => {
  if (hash === undefined) throw new RangeError('no such hash')
  return hash
}
const read: HashReader = ({ level, index }) => given(nodes.get(`${level}/${index}`))

test('every leaf has a proof that verifies in every tree that holds it', () => {
  let proofs = 0
  for (let size = 1; size <= COUNT; size += 1) {
    const root = given(roots[size])
    for (let index = 0; index < size; index += 1) {
      const proof = proveInclusion(index, size, read)
      if (!verifyInclusion({ index, size, leaf: given(leaves[index]), proof, root }))
        assert.unreachable(`${index} of ${size}`)
      proofs += 1
    }
  }
  assert.is(proofs, (COUNT * (COUNT + 1)) / 2)
})

test('every tree has a proof that verifies to every tree that continues it', () => {
  let proofs = 0
  for (let to = 0; to <= COUNT; to += 1) {
    for (let from = 0; from <= to; from += 1) {
      const proof = proveConsistency(from, to, read)
      const claim = { from, fromRoot: given(roots[from]), to, toRoot: given(roots[to]), proof }
      if (!verifyConsistency(claim)) assert.unreachable(`${from} to ${to}`)
      proofs += 1
    }
  }
  assert.is(proofs, ((COUNT + 1) * (COUNT + 2)) / 2)
})

test.run()
