/** @module Entry bundles: the entries of up to 256 leaves, each prefixed with its length as a big-endian uint16 (C2SP tlog-tiles). */
import { TILE_WIDTH } from './tile-path.ts'

/** Largest entry: its length has 16 bits. */
export const ENTRY_MAX_BYTES = 0xffff
const LENGTH_BYTES = 2

/** Throws `RangeError` for an entry of more than 65,535 bytes, or unless there are 1 to 256 entries. */
export function formatEntryBundle(entries: readonly (string | Uint8Array)[]): Uint8Array {
  if (entries.length < 1 || entries.length > TILE_WIDTH) throw new RangeError('a bundle has 1 to 256 entries')
  const parts: Uint8Array[] = []
  for (const entry of entries) {
    const bytes = typeof entry === 'string' ? Buffer.from(entry) : entry
    if (bytes.length > ENTRY_MAX_BYTES) throw new RangeError(`an entry has at most ${ENTRY_MAX_BYTES} bytes`)
    parts.push(Buffer.of(bytes.length >> 8, bytes.length & 0xff), bytes)
  }
  return Buffer.concat(parts)
}

/** Parses a bundle; undefined if the last entry is truncated, or unless there are 1 to 256 entries. */
export function parseEntryBundle(bundle: Uint8Array): readonly Uint8Array[] | undefined {
  const entries: Uint8Array[] = []
  for (let at = 0; at < bundle.length; ) {
    const [high, low] = [bundle[at], bundle[at + 1]]
    if (high === undefined || low === undefined || entries.length === TILE_WIDTH) return undefined
    const begin = at + LENGTH_BYTES
    at = begin + high * 0x100 + low
    if (at > bundle.length) return undefined
    entries.push(bundle.subarray(begin, at))
  }
  return entries.length === 0 ? undefined : entries
}
