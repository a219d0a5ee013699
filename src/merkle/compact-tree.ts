/** @module A tree that grows leaf by leaf and keeps only the hashes of its perfect subtrees; it yields its root, and each subtree when it is complete. */
import { emptyRoot, nodeHash } from './hashes.ts'
import { foldRight, type HashReader, type NodeId, perfectSubtrees } from './subtrees.ts'

/** Called for every perfect subtree, leaves included, when it is complete. */
export type NodeVisitor = (level: number, index: number, hash: Uint8Array) => void

export class CompactTree {
  #size = 0
  /** Hashes of the perfect subtrees, widest first: as many as `size` has bits set. */
  readonly #hashes: Uint8Array[] = []

  /** The tree of the first `size` leaves, read from the stored hashes. Throws what the reader throws. */
  static of(size: number, read: HashReader): CompactTree {
    const tree = new CompactTree()
    for (const node of perfectSubtrees({ begin: 0, end: size })) tree.#hashes.push(read(node))
    tree.#size = size
    return tree
  }

  /** The tree of `size` leaves from the hashes of its perfect subtrees, widest first; undefined if the number of hashes is wrong. */
  static ofHashes(size: number, hashes: readonly Uint8Array[]): CompactTree | undefined {
    if (perfectSubtrees({ begin: 0, end: size }).length !== hashes.length) return undefined
    const rest = hashes.values()
    return CompactTree.of(size, () => rest.next().value as Uint8Array)
  }

  get size(): number {
    return this.#size
  }

  /** Appends a leaf by its hash. */
  append(leaf: Uint8Array, visit?: NodeVisitor): void {
    let hash = leaf
    let level = 0
    let index = this.#size
    visit?.(level, index, hash)
    while (index % 2 === 1) {
      const left = this.#hashes.pop()
      if (left === undefined) throw new RangeError('the tree lacks a hash')
      hash = nodeHash(left, hash)
      level += 1
      index = (index - 1) / 2
      visit?.(level, index, hash)
    }
    this.#hashes.push(hash)
    this.#size += 1
  }

  root(): Uint8Array {
    return foldRight(this.#hashes) ?? emptyRoot()
  }

  /** The perfect subtrees that the tree is made of, widest first. */
  nodes(): readonly NodeId[] {
    return perfectSubtrees({ begin: 0, end: this.#size })
  }
}
