/** @module Brings the logs up to date with the store, in the thread that writes their file. */
import type { Indexing, LogIndexing } from '../indexing.ts'
import type { CheckpointFile } from './checkpoint-file.ts'
import { checkpointKeeper } from './checkpoint-keeper.ts'
import { CheckpointSigner } from './checkpoint-signer.ts'
import type { LogDeps } from './log-deps.ts'
import type { LogProjection } from './log-projection.ts'
import type { StreamHeads } from './stream-heads.ts'

export interface LogParts {
  readonly projection: LogProjection
  readonly heads: StreamHeads
  /** Absent if nothing outlives the process. */
  readonly kept: CheckpointFile | undefined
  readonly origin: string
}

const NOTHING_SIGNED: ReadonlyMap<string, string> = new Map()

export function logIndexing(deps: LogDeps, { projection, heads, kept, origin }: LogParts): LogIndexing {
  const signer = new CheckpointSigner(deps, projection, heads)
  const keep = kept && checkpointKeeper(kept, { deps, projection, origin })
  return {
    get building() {
      return projection.building
    },
    catchUp: async (signal) => {
      await projection.catchUp(signal)
      // Checkpoints of other processes: whatever is served from here on must be found again after a restart on a store that went backwards.
      if (deps.store.exclusive !== true) keep?.(NOTHING_SIGNED)
    },
    sign: async (signal) => {
      const signed = await signer.signDue(signal)
      keep?.(new Map(signed.map(({ tenant, note }) => [tenant, note])))
      return signed.length
    },
    restoreHeads: (signal) => signer.restoreHeads(signal),
    streamPath: (tenant, stream, size, root) => heads.path(tenant, stream, size, root),
  }
}

/**
 * Runs the indexing of the logs in whichever thread owns the file. After a call to the other thread, the local projection drops its caches, since the file may
 * have changed.
 */
export function logIndexingAnywhere(
  own: LogIndexing,
  indexing: Indexing,
  projection: Pick<LogProjection, 'forget'>,
): LogIndexing {
  const anywhere = <T>(work: (logs: LogIndexing) => Promise<T>): Promise<T> =>
    indexing.do(
      () => work(own),
      ({ logs }) => work(logs).finally(() => projection.forget()),
    )
  return {
    get building() {
      return (indexing.remote?.logs ?? own).building
    },
    catchUp: (signal) => anywhere((logs) => logs.catchUp(signal)),
    sign: (signal) => anywhere((logs) => logs.sign(signal)),
    restoreHeads: (signal) => anywhere((logs) => logs.restoreHeads(signal)),
    streamPath: (...place) => anywhere((logs) => logs.streamPath(...place)),
  }
}
