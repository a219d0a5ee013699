/** @module A tenant's log read directly from the store, without a server: its leaves, its last checkpoint, and proofs against it. */

import type { Checkpoint } from '../merkle/checkpoint.ts'
import { CompactTree } from '../merkle/compact-tree.ts'
import { proveConsistency } from '../merkle/consistency.ts'
import { HASH_BYTES, leafHash, sameHash } from '../merkle/hashes.ts'
import { proveInclusion, verifyInclusion } from '../merkle/inclusion.ts'
import type { NoteVerifier } from '../merkle/note-key.ts'
import type { HashReader } from '../merkle/subtrees.ts'
import { tileHashReader } from '../merkle/tile-hashes.ts'
import { TILE_HEIGHT, TILE_WIDTH } from '../merkle/tile-path.ts'
import { formatTlogProof } from '../merkle/tlog-proof.ts'
import { readLogCheckpoint } from './checkpoint-check.ts'
import { type LogReader, leavesIn } from './leaves-in.ts'

export type OfflineProof =
  | { readonly ok: true; readonly file: string }
  | { readonly ok: false; readonly code: 'not-in-log' | 'not-published' | 'checkpoint-invalid' | 'checkpoint-mismatch' }

/** Precomputed hashes of a log. They are not trusted: proofs made from them are checked against the signed root. */
export interface LogTiles {
  readonly leafOf: (
    tenant: string,
    eventId: string,
  ) => { readonly index: number; readonly stream: string; readonly revision: number } | undefined
  readonly tile: (tenant: string, level: number, index: number) => Uint8Array | undefined
}

export interface ProofRequest {
  readonly tenant: string
  readonly eventId: string
  /** The signed note of the last checkpoint. */
  readonly note: string
  /** The keys whose checkpoints of the log are accepted. */
  readonly verifiers: readonly NoteVerifier[]
}

/** The proof file of an event, made from the records of the store. MACs are not checked; `verify` does that. */
export async function proveOffline(reader: LogReader, request: ProofRequest): Promise<OfflineProof> {
  const { tenant, eventId, note, verifiers } = request
  const read = readLogCheckpoint(note, verifiers)
  if (!read.ok) return { ok: false, code: 'checkpoint-invalid' }
  const { size, root } = read.checkpoint
  const leaves = new TileTree()
  let index: number | undefined
  for await (const [leaf, header] of leavesIn(reader, tenant)) {
    if (header?.includes(`"id":"${eventId}"`) === true) index ??= leaves.size
    leaves.append(leaf)
    if (leaves.size === size && !sameHash(leaves.root(), root)) return { ok: false, code: 'checkpoint-mismatch' }
  }
  if (leaves.size < size) return { ok: false, code: 'checkpoint-mismatch' }
  if (index === undefined) return { ok: false, code: 'not-in-log' }
  if (index >= size) return { ok: false, code: 'not-published' }
  return {
    ok: true,
    file: formatTlogProof({ index, hashes: proveInclusion(index, size, leaves.read), checkpoint: note }),
  }
}

/**
 * Proves an event from tiles and the event itself, without reading the rest of the store. Undefined if the tiles do not prove the event: the store must then be read
 * to find the reason.
 */
export async function proveFromTiles(
  { leafOf, tile }: LogTiles,
  headerOf: (stream: string, revision: number) => Promise<string | undefined>,
  { tenant, eventId, note, verifiers }: ProofRequest,
): Promise<OfflineProof | undefined> {
  const read = readLogCheckpoint(note, verifiers)
  const leaf = leafOf(tenant, eventId)
  if (!read.ok || leaf === undefined || leaf.index >= read.checkpoint.size) return undefined
  const header = await headerOf(leaf.stream, leaf.revision)
  if (header?.includes(`"id":"${eventId}"`) !== true) return undefined
  const { size, root } = read.checkpoint
  const { index } = leaf
  try {
    const hashes = proveInclusion(
      index,
      size,
      tileHashReader((level, at) => tile(tenant, level, at)),
    )
    if (!verifyInclusion({ index, size, leaf: leafHash(header), proof: hashes, root })) return undefined
    return { ok: true, file: formatTlogProof({ index, hashes, checkpoint: note }) }
  } catch (error) {
    // A tile is missing or too short.
    if (error instanceof RangeError) return undefined
    throw error
  }
}

/** The proof from an earlier size to that of the checkpoint; undefined if the records are not those that were signed, or if `from` exceeds that size. */
export async function proveOfflineConsistency(
  reader: LogReader,
  { tenant, from, checkpoint }: { readonly tenant: string; readonly from: number; readonly checkpoint: Checkpoint },
): Promise<readonly Uint8Array[] | undefined> {
  const leaves = new TileTree()
  for await (const [leaf] of leavesIn(reader, tenant)) if (leaves.size < checkpoint.size) leaves.append(leaf)
  if (leaves.size < checkpoint.size || !sameHash(leaves.root(), checkpoint.root)) return undefined
  return from > checkpoint.size ? undefined : proveConsistency(from, checkpoint.size, leaves.read)
}

/** A tree that keeps its tiles in memory: 33 bytes per leaf. */
class TileTree {
  readonly read: HashReader
  readonly #tree = new CompactTree()
  readonly #tiles = new Map<string, Uint8Array>()

  constructor() {
    this.read = tileHashReader((level, index) => this.#tiles.get(`${level}/${index}`))
  }

  get size(): number {
    return this.#tree.size
  }

  root(): Uint8Array {
    return this.#tree.root()
  }

  append(leaf: Uint8Array): void {
    this.#tree.append(leaf, (level, index, hash) => {
      if (level % TILE_HEIGHT !== 0) return
      const name = `${level / TILE_HEIGHT}/${Math.floor(index / TILE_WIDTH)}`
      const tile = this.#tiles.get(name) ?? new Uint8Array(TILE_WIDTH * HASH_BYTES)
      tile.set(hash, (index % TILE_WIDTH) * HASH_BYTES)
      this.#tiles.set(name, tile)
    })
  }
}
