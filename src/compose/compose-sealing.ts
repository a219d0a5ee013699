/** @module The threads that decide and seal, for a store in a file; their program is `seal-worker.ts`. */
import type { Log } from '../ledger/ports.ts'
import type { MemoryBudget } from '../resources/memory-budget.ts'
import type { WorkQueue } from '../resources/work-queue.ts'
import { workerProgram } from '../resources/worker-program.ts'
import { SealThreads } from '../sealing/seal-threads.ts'
import type { Settings } from '../settings/config.ts'
import type { EventStore } from '../store/event-store.ts'
import { prepareStorePath } from '../store/sqlite/store-path.ts'
import type { ViewStore } from '../store/view-store.ts'
import { viewsPath } from './compose-files.ts'
import { STORE_OWNER } from './lease-owner.ts'
import type { SealerPlaces } from './seal-worker.ts'

export interface SealingDeps {
  readonly store: EventStore
  readonly views: ViewStore
  readonly memory: MemoryBudget
  readonly work: WorkQueue
  readonly log: Log
}

/** A small budget says what is kept, not what a decision takes. */
const HEAP_LEAST_BYTES = 256 * 1024 * 1024

/** Undefined where none is wanted, where the store is no file, and in a bundled program, which does not carry their program along. */
export function openSealing(settings: Settings, { store, ...deps }: SealingDeps): SealThreads | undefined {
  const { store: place, keys, policy, values, sealThreads: count, sealProgram } = settings
  if (count === 0 || place.kind !== 'sqlite') return undefined
  const file = sealProgram ?? workerProgram(() => new URL('../../programs/seal-worker.js', import.meta.url))
  if (file === undefined) return undefined
  const { url, maxAppendBytes } = store
  const { totalBytes } = deps.memory
  const workerData: SealerPlaces = {
    store: { path: prepareStorePath(place.path), url, maxAppendBytes },
    ...{ keys, policy, values, owner: STORE_OWNER, views: viewsPath(settings) },
    memory: { totalBytes, parts: partsOf(settings) },
  }
  return new SealThreads({ count, file, workerData, store, heapBytes: Math.max(totalBytes, HEAP_LEAST_BYTES), ...deps })
}

/** Threads that keep recent runs: those that decide on them, and this one, which reads others. */
export function partsOf({ store, sealThreads }: Settings): number {
  return store.kind === 'sqlite' ? sealThreads + 1 : 1
}
