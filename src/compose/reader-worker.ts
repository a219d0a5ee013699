/** @module Entry point of a reader thread: it has a read-only connection to the store's file, and the keys that verify the events. */
import { getHeapStatistics } from 'node:v8'
import { Sealer } from '../ledger/identity/sealer.ts'
import { THREAD_ERRORS } from '../ledger/thread-errors.ts'
import { BodyReader } from '../read-workers/body-reader.ts'
import type { ReaderCalls, ReaderHostCalls } from '../read-workers/protocol.ts'
import type { ReaderSources } from '../read-workers/reader-pages.ts'
import { threadGivesWay } from '../resources/give-way.ts'
import { WorkQueue } from '../resources/work-queue.ts'
import type { KeyPlace } from '../settings/places.ts'
import { AuditSnapshots } from '../store/sqlite/audit-snapshots.ts'
import { sharedLeaves } from '../store/sqlite/sqlite-leaves.ts'
import { openSqliteReader } from '../store/sqlite/sqlite-reader.ts'
import { type Owner, type Served, serveThread } from '../workers/serve-thread.ts'
import { keysAt } from './worker-parts.ts'

export interface ReaderPlaces {
  /** Path of the store's file. */
  readonly store: string
  readonly keys: KeyPlace
  /** Path of the log file. */
  readonly logs: string
  /** Path of the audit index. */
  readonly audit: string
  /** Whether no process serves the store: the thread then runs at normal priority. */
  readonly isAlone?: boolean
}

const HEAP_EVERY_MS = 1_000

function begin(
  { store: path, keys: keyPlace, logs, audit, isAlone = false }: ReaderPlaces,
  owner: Owner<ReaderHostCalls>,
): Served<ReaderCalls> {
  if (!isAlone) threadGivesWay()
  const keys = keysAt(keyPlace)
  const store = openSqliteReader({ path })
  const sealer = new Sealer(keys)
  sealer.onFault((fault) => owner.tell('fault', [fault]))
  const leaves = sharedLeaves(logs)
  const snapshots = new AuditSnapshots(audit)
  const readIndex: ReaderSources['readIndex'] = (index, read) => snapshots.read(index, read)
  const reader = new BodyReader({ store, sealer, openLeaves: leaves.open, readIndex, work: new WorkQueue(), owner })
  const tellHeap = setInterval(() => owner.tell('heap', [getHeapStatistics().used_heap_size]), HEAP_EVERY_MS)
  return {
    handlers: reader.handlers,
    close: () => {
      clearInterval(tellHeap)
      for (const each of [keys, snapshots, leaves, store]) each[Symbol.dispose]()
    },
  }
}

await serveThread(begin, THREAD_ERRORS)
