/** @module Inclusion proofs: that a leaf is in a tree (RFC 6962 section 2.1.1, RFC 9162 section 2.1.3). */
import { HASH_BYTES, nodeHash, sameHash } from './hashes.ts'
import { type HashReader, type LeafRange, rangeRoot, splitPoint } from './subtrees.ts'

/** The audit path of a leaf, from its sibling up. Throws `RangeError` where the leaf is not in the tree. */
export function proveInclusion(index: number, size: number, read: HashReader): readonly Uint8Array[] {
  if (!Number.isSafeInteger(size) || !Number.isSafeInteger(index) || index < 0 || index >= size) {
    throw new RangeError(`a tree of ${size} leaves has no leaf ${index}`)
  }
  return path(index, { begin: 0, end: size }).map((range) => rangeRoot(range, read))
}

/** PATH(m, D[n]) of RFC 6962: the ranges whose hashes form the proof. */
function path(index: number, { begin, end }: LeafRange): readonly LeafRange[] {
  if (end - begin === 1) return []
  const middle = begin + splitPoint(end - begin)
  if (index < middle) return [...path(index, { begin, end: middle }), { begin: middle, end }]
  return [...path(index, { begin: middle, end }), { begin, end: middle }]
}

export interface InclusionClaim {
  readonly index: number
  readonly size: number
  readonly leaf: Uint8Array
  readonly proof: readonly Uint8Array[]
  readonly root: Uint8Array
}

/** Whether the proof shows that the leaf is at `index` in the tree of that size and root. Never throws. */
export function verifyInclusion({ index, size, leaf, proof, root }: InclusionClaim): boolean {
  if (!Number.isSafeInteger(size) || !Number.isSafeInteger(index) || index < 0 || index >= size) return false
  if (![leaf, root, ...proof].every((hash) => hash.length === HASH_BYTES)) return false

  let node = index
  let last = size - 1
  let hash = leaf
  for (const sibling of proof) {
    if (last === 0) return false
    if (node % 2 === 1 || node === last) {
      hash = nodeHash(sibling, hash)
      // A node without a right sibling is its own parent on the levels above.
      while (node % 2 === 0 && node !== 0) {
        node /= 2
        last = Math.floor(last / 2)
      }
    } else {
      hash = nodeHash(hash, sibling)
    }
    node = Math.floor(node / 2)
    last = Math.floor(last / 2)
  }
  return last === 0 && sameHash(hash, root)
}
