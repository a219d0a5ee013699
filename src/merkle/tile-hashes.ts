/** @module Hashes of a tree, read from its tiles; the levels that tiles do not store are computed. */
import { HASH_BYTES, nodeHash } from './hashes.ts'
import type { HashReader } from './subtrees.ts'
import { TILE_HEIGHT, TILE_WIDTH } from './tile-path.ts'

/** The hashes of a tile, at least as many as are needed; undefined if there is no such tile. */
export type TileReader = (level: number, index: number) => Uint8Array | undefined

/** A reader for any perfect subtree. It throws `RangeError` if a tile is missing or too short. */
export function tileHashReader(readTile: TileReader): HashReader {
  return ({ level, index }) => {
    const tileLevel = Math.floor(level / TILE_HEIGHT)
    const height = level % TILE_HEIGHT
    const count = 2 ** height
    const first = index * count
    const tileIndex = Math.floor(first / TILE_WIDTH)
    const begin = (first % TILE_WIDTH) * HASH_BYTES
    const end = begin + count * HASH_BYTES
    const tile = readTile(tileLevel, tileIndex)
    if (tile === undefined || tile.length < end)
      throw new RangeError(`tile ${tileLevel}/${tileIndex} is missing or too short`)
    return perfectRoot(tile.subarray(begin, end))
  }
}

/** Root of a power of two of adjacent hashes. */
function perfectRoot(hashes: Uint8Array): Uint8Array {
  if (hashes.length === HASH_BYTES) return hashes
  const middle = hashes.length / 2
  return nodeHash(perfectRoot(hashes.subarray(0, middle)), perfectRoot(hashes.subarray(middle)))
}
