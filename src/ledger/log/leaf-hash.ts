/** @module The hash that a log has of one of its leaves. */
import { HASH_BYTES } from '../../merkle/hashes.ts'
import { TILE_WIDTH } from '../../merkle/tile-path.ts'
import type { LeafRow, LogStore } from '../../store/log-store.ts'

/** Undefined where the file lacks it. */
export function leafHashAt(
  tiles: Pick<LogStore, 'tile'>,
  { tenant, index }: Pick<LeafRow, 'tenant' | 'index'>,
): Uint8Array | undefined {
  const tile = tiles.tile(tenant, 0, Math.floor(index / TILE_WIDTH))
  const from = (index % TILE_WIDTH) * HASH_BYTES
  return tile !== undefined && tile.length >= from + HASH_BYTES ? tile.subarray(from, from + HASH_BYTES) : undefined
}
