/** @module In-memory caches of trees, streams and keys of the logs, within their share of the memory budget; the file holds all of it. */
import type { NoteVerifier } from '../../merkle/note-key.ts'
import type { MemoryBudget } from '../../resources/memory-budget.ts'
import { cacheWithin, type SizedCache, textBytes } from '../../resources/sized-cache.ts'
import type { Expectation } from '../../signing/check.ts'
import type { LogStreamRow } from '../../store/log-store.ts'
import type { HashedGroups } from './stream-heads.ts'
import type { TenantTree } from './tenant-tree.ts'

/** Fractions of the memory share of the logs; cosignatures have another one (`witness-posts.ts`). */
const PARTS = { trees: 0.5, streams: 0.25, verifiers: 0.05, heads: 0.1 } as const
/** Size in bytes of a stream's state without its texts. */
const STREAM_BYTES = 192
/** Size in bytes of a tenant's verifier with its key. */
export const VERIFIER_BYTES = 1_024

export interface StreamState {
  readonly expected: Expectation
  readonly foreign: boolean
  /** See `LogStreamRow`; may be less than what is expected next, and means nothing then. */
  readonly attested?: number | undefined
}

/** Shared by the projections of one ledger: that of the guard and that which follows the store. */
export interface LogCaches {
  readonly trees: SizedCache<TenantTree>
  readonly streams: SizedCache<StreamState>
  /** By the name of the log: its valid keys, as of a generation of the keys. */
  readonly verifiers: SizedCache<{ readonly generation: number; readonly verifiers: readonly NoteVerifier[] }>
  /** Hashed groups of each tenant's tree of streams. */
  readonly heads: SizedCache<HashedGroups>
}

export function logCaches(memory: MemoryBudget): LogCaches {
  return {
    trees: cacheWithin(memory, 'logs', PARTS.trees),
    streams: cacheWithin(memory, 'logs', PARTS.streams),
    verifiers: cacheWithin(memory, 'logs', PARTS.verifiers),
    heads: cacheWithin(memory, 'logs', PARTS.heads),
  }
}

export function streamBytes({ expected }: StreamState): number {
  const { stream, prevDigest = '', prevTime = '' } = expected
  return STREAM_BYTES + textBytes(stream) + textBytes(prevDigest) + textBytes(prevTime)
}

export function streamRow(stream: string, { expected, foreign, attested = 0 }: StreamState): LogStreamRow {
  const { revision: nextRevision, prevDigest, prevTime, minRingIndex } = expected
  return {
    stream,
    nextRevision,
    ...(attested > nextRevision && { attested }),
    ...(prevDigest !== undefined && { prevDigest }),
    ...(prevTime !== undefined && { prevTime }),
    minRingIndex,
    foreign,
  }
}

export function streamState({
  stream,
  nextRevision,
  attested,
  prevDigest,
  prevTime,
  minRingIndex,
  foreign,
}: LogStreamRow): StreamState {
  return { expected: { stream, revision: nextRevision, prevDigest, prevTime, minRingIndex }, foreign, attested }
}
