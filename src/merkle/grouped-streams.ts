/**
 * @module A tree of streams, grouped by the first bits of their keys: after a change only the affected groups are hashed again, and only those need to be in
 * memory.
 */
import { EMPTY_SUBTREE, joined, pathWithin, type StreamHead, type Subtree, subtreeOf } from './stream-tree.ts'

export const GROUP_BITS = 12
const BITS_OF_TWO_BYTES = 16

/** Number of the group of a key. */
export function groupOf(key: Uint8Array): number {
  return (((key[0] ?? 0) << 8) | (key[1] ?? 0)) >> (BITS_OF_TWO_BYTES - GROUP_BITS)
}

export function groupSubtree(heads: readonly StreamHead[]): Subtree {
  return subtreeOf(heads, GROUP_BITS)
}

/** By group number; a missing group is empty. */
export type Groups = ReadonlyMap<number, Subtree>

export function rootOfGroups(groups: Groups): Uint8Array {
  return (levelsOf(groups).at(-1)?.get(0) ?? EMPTY_SUBTREE).hash
}

/** Sibling hashes on the path from a stream to the root, the lowest first. `heads`: the streams of its group. */
export function pathFrom(groups: Groups, heads: readonly StreamHead[], key: Uint8Array): readonly Uint8Array[] {
  const path = [...pathWithin(heads, key, GROUP_BITS)]
  let index = groupOf(key)
  for (const level of levelsOf(groups).slice(0, GROUP_BITS)) {
    const own = level.get(index) ?? EMPTY_SUBTREE
    const other = level.get(index ^ 1) ?? EMPTY_SUBTREE
    // If the stream is the only one in both halves, its own hash is also the hash of their parent.
    if (own.streams === 'several' || other.streams !== 'none') path.push(other.hash)
    index >>= 1
  }
  return path
}

/** The levels from the groups up to the root: the non-empty subtrees of each level, by index. */
function levelsOf(groups: Groups): readonly Groups[] {
  const levels: Groups[] = [groups]
  let level = groups
  for (let depth = GROUP_BITS; depth > 0; depth -= 1) {
    const above = new Map<number, Subtree>()
    for (const index of level.keys()) {
      const parent = index >> 1
      if (above.has(parent)) continue
      const [left, right] = [level.get(2 * parent) ?? EMPTY_SUBTREE, level.get(2 * parent + 1) ?? EMPTY_SUBTREE]
      above.set(parent, joined(left, right))
    }
    levels.push(above)
    level = above
  }
  return levels
}
