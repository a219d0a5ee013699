/**
 * @module A tree of streams in groups by the first bits of their keys: after a change only the groups it touched are hashed again, and only
 * those need to be at hand.
 */
import { EMPTY_SUBTREE, joined, pathWithin, type StreamHead, type Subtree, subtreeOf } from './stream-tree.ts'

export const GROUP_BITS = 12
const BITS_OF_TWO_BYTES = 16

/** Number of the group that a key belongs to. */
export function groupOf(key: Uint8Array): number {
  return (((key[0] ?? 0) << 8) | (key[1] ?? 0)) >> (BITS_OF_TWO_BYTES - GROUP_BITS)
}

export function groupSubtree(heads: readonly StreamHead[]): Subtree {
  return subtreeOf(heads, GROUP_BITS)
}

/** By group; one that is not there is empty. */
export type Groups = ReadonlyMap<number, Subtree>

export function rootOfGroups(groups: Groups): Uint8Array {
  return (levelsOf(groups).at(-1)?.get(0) ?? EMPTY_SUBTREE).hash
}

/** Hashes beside the way from a stream to the root, the lowest first. `heads`: those of its group. */
export function pathFrom(groups: Groups, heads: readonly StreamHead[], key: Uint8Array): readonly Uint8Array[] {
  const path = [...pathWithin(heads, key, GROUP_BITS)]
  let index = groupOf(key)
  for (const level of levelsOf(groups).slice(0, GROUP_BITS)) {
    const own = level.get(index) ?? EMPTY_SUBTREE
    const other = level.get(index ^ 1) ?? EMPTY_SUBTREE
    // Alone in both halves: its own hash stands for them, too.
    if (own.streams === 'several' || other.streams !== 'none') path.push(other.hash)
    index >>= 1
  }
  return path
}

/** From the groups up to the root: what is not empty of each level, by its number. */
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
