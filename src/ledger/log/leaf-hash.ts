/** @module Reads the hash of a leaf from the tiles of a log. */
import { HASH_BYTES } from '../../merkle/hashes.ts'
import { TILE_WIDTH } from '../../merkle/tile-path.ts'
import type { LeafRow, LogStore } from '../../store/log-store.ts'

/** Undefined if the file does not have the hash. */
export function leafHashAt(
  tiles: Pick<LogStore, 'tile'>,
  { tenant, index }: Pick<LeafRow, 'tenant' | 'index'>,
): Uint8Array | undefined {
  const tile = tiles.tile(tenant, 0, Math.floor(index / TILE_WIDTH))
  const from = (index % TILE_WIDTH) * HASH_BYTES
  return tile !== undefined && tile.length >= from + HASH_BYTES ? tile.subarray(from, from + HASH_BYTES) : undefined
}
