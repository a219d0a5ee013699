/** @module Splitting of a range of leaves into perfect subtrees, and the root over them (RFC 6962 section 2.1). Sizes are safe integers. */
import { nodeHash } from './hashes.ts'

/** A perfect subtree: leaves from `index * 2**level` up to, but not including, `(index + 1) * 2**level`. */
export interface NodeId {
  readonly level: number
  readonly index: number
}

/** Reads the hash of a perfect subtree. Throws if the subtree is not in the tree. */
export type HashReader = (node: NodeId) => Uint8Array

/** Leaves from `begin` up to, but not including, `end`. */
export interface LeafRange {
  readonly begin: number
  readonly end: number
}

/** The largest power of two that is less than `size`, for sizes above 1: where RFC 6962 splits a tree. */
export function splitPoint(size: number): number {
  let power = 1
  while (power * 2 < size) power *= 2
  return power
}

/** The perfect subtrees of a range, from left to right. The range must be one that occurs in a proof, which begins at a subtree boundary. */
export function perfectSubtrees({ begin, end }: LeafRange): readonly NodeId[] {
  const nodes: NodeId[] = []
  for (let at = begin; at < end; ) {
    let width = 1
    let level = 0
    while (at % (width * 2) === 0 && at + width * 2 <= end) {
      width *= 2
      level += 1
    }
    nodes.push({ level, index: at / width })
    at += width
  }
  return nodes
}

/** Root of adjacent subtrees, wider ones first; undefined if there are none. */
export function foldRight(hashes: readonly Uint8Array[]): Uint8Array | undefined {
  let root: Uint8Array | undefined
  for (let i = hashes.length - 1; i >= 0; i -= 1) {
    const left = hashes[i]
    if (left !== undefined) root = root === undefined ? left : nodeHash(left, root)
  }
  return root
}

/** Hash of a range that occurs in a proof, complete or cut off by the end of the tree. Throws `RangeError` for an empty range. */
export function rangeRoot(range: LeafRange, read: HashReader): Uint8Array {
  const root = foldRight(perfectSubtrees(range).map(read))
  if (root === undefined) throw new RangeError('a range without leaves has no hash')
  return root
}
