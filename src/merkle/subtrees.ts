/** @module How a range of leaves falls into perfect subtrees, and the root that they make (RFC 6962 section 2.1). Sizes are safe integers. */
import { nodeHash } from './hashes.ts'

/** A perfect subtree: leaves `index * 2**level` up to, not including, `(index + 1) * 2**level`. */
export interface NodeId {
  readonly level: number
  readonly index: number
}

/** Reads the hash of a perfect subtree. Throws where the tree does not reach that far. */
export type HashReader = (node: NodeId) => Uint8Array

/** Leaves `begin` up to, not including, `end`. */
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

/** The perfect subtrees of a range, from left to right. The range is one that a proof names: it begins where its first subtree may. */
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

/** Root of subtrees that stand side by side, wider ones first; undefined where there are none. */
export function foldRight(hashes: readonly Uint8Array[]): Uint8Array | undefined {
  let root: Uint8Array | undefined
  for (let i = hashes.length - 1; i >= 0; i -= 1) {
    const left = hashes[i]
    if (left !== undefined) root = root === undefined ? left : nodeHash(left, root)
  }
  return root
}

/** Hash of a subtree that a proof names, whole or cut off by the end of the tree. Throws `RangeError` for an empty range. */
export function rangeRoot(range: LeafRange, read: HashReader): Uint8Array {
  const root = foldRight(perfectSubtrees(range).map(read))
  if (root === undefined) throw new RangeError('a range without leaves has no hash')
  return root
}
