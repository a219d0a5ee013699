/** @module Entry point of the thread that writes the derived files: it has a read-only connection to the store, the files, and the keys that seal them. */
import { availableParallelism } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import { indexAhead } from '../indexing/index-ahead.ts'
import { type IndexingParts, indexingHandlers } from '../indexing/indexing-handlers.ts'
import { PinnedStore } from '../indexing/pinned-store.ts'
import type { FileName, IndexingCalls, IndexingHostCalls, IndexingState } from '../indexing/protocol.ts'
import { AuditProjection, type ProjectionDeps } from '../ledger/audit/audit-projection.ts'
import { realEffects } from '../ledger/effects.ts'
import { fileGuard, logFileGuard } from '../ledger/identity/file-guard.ts'
import { openLedgerIdentity } from '../ledger/identity/ledger-identity.ts'
import { LogKeys } from '../ledger/identity/log-keys.ts'
import { Sealer } from '../ledger/identity/sealer.ts'
import { CheckpointFile } from '../ledger/log/checkpoint-file.ts'
import { logCaches } from '../ledger/log/log-caches.ts'
import type { LogFact } from '../ledger/log/log-deps.ts'
import { logIndexing } from '../ledger/log/log-indexing.ts'
import { LogProjection } from '../ledger/log/log-projection.ts'
import { StreamHeads } from '../ledger/log/stream-heads.ts'
import type { Log } from '../ledger/ports.ts'
import { RunListProjection } from '../ledger/read/run-list-projection.ts'
import { THREAD_ERRORS } from '../ledger/thread-errors.ts'
import { threadGivesWay } from '../resources/give-way.ts'
import { MemoryBudget } from '../resources/memory-budget.ts'
import type { WatchedKeys } from '../settings/key-source.ts'
import type { KeyPlace } from '../settings/places.ts'
import { reasonOf } from '../settings/reason-of.ts'
import type { DerivedFileOptions } from '../store/derived-file.ts'
import type { AppendResult, StoreReader } from '../store/event-store.ts'
import { readOnlyStore } from '../store/read-only-store.ts'
import { openSqliteAudit } from '../store/sqlite/sqlite-audit.ts'
import { openSqliteLogs } from '../store/sqlite/sqlite-log.ts'
import { openSqliteReader } from '../store/sqlite/sqlite-reader.ts'
import { openSqliteViews } from '../store/sqlite/sqlite-views.ts'
import { type Owner, type Served, serveThread } from '../workers/serve-thread.ts'
import { workerProgram } from '../workers/worker-program.ts'
import type { AheadPlaces } from './index-ahead-worker.ts'
import { keysAt } from './worker-parts.ts'

export interface IndexingPlaces {
  /** Path of the store's file. */
  readonly store: string
  readonly keys: KeyPlace
  readonly paths: Readonly<Record<FileName, string>>
  /** Path of the file of the last checkpoints. */
  readonly kept?: string
  /** The total budget that shares are computed from. */
  readonly memoryBytes: number
}

const STATE_EVERY_MS = 500

type Host = Owner<IndexingHostCalls>

/** The files belong to the owner's thread until it answers that this thread may take them. */
async function begin(places: IndexingPlaces, host: Host): Promise<Served<IndexingCalls>> {
  const keys = keysAt(places.keys)
  const reader = openSqliteReader({ path: places.store })
  await host.ask('takeFiles', [])
  const { parts, progress, close } = await open(places, { keys, reader, host })
  // Set only now: callers that wait for the files to be opened wait for the whole start.
  threadGivesWay({ isWaitedFor: true })
  const telling = setInterval(() => {
    host.tell('state', [{ heapBytes: getHeapStatistics().used_heap_size, ...progress() }])
  }, STATE_EVERY_MS)
  return {
    handlers: indexingHandlers(parts, logTo(host)),
    close: async () => {
      clearInterval(telling)
      await host.stop()
      close()
      reader[Symbol.dispose]()
      keys[Symbol.dispose]()
    },
  }
}

interface Opened {
  readonly parts: IndexingParts
  readonly progress: () => Pick<IndexingState, 'building' | 'indexing'>
  readonly close: () => void
}

interface Sources {
  readonly keys: WatchedKeys
  readonly reader: StoreReader
  readonly host: Host
}

/** Opens the files and creates the indexers that keep them up to date with the store. */
async function open(places: IndexingPlaces, { keys, reader, host }: Sources): Promise<Opened> {
  const memory = new MemoryBudget(places.memoryBytes)
  const sealer = new Sealer(keys, memory)
  sealer.onFault((fault) => host.tell('fault', [fault]))
  const logKeys = new LogKeys(keys)
  const log = logTo(host)
  const files = openFiles(places, keys, host)
  const identity = { store: readOnlyStore(reader), views: files.views, keys, sealer, logKeys, log, readOnly: true }
  const founding = { ...identity, effects: realEffects() }
  const { origin } = await openLedgerIdentity(founding)
  const stores = { views: new PinnedStore(reader), audit: new PinnedStore(reader), logs: new PinnedStore(reader) }
  const append = (fact: LogFact): Promise<AppendResult> => host.ask('append', [fact])
  const logDeps = {
    ...{ store: stores.logs.store, logStore: files.logs, logKeys, sealer, memory, log },
    ...{ effects: founding.effects, append, appendsSoFar: () => 0 },
    onPutBack: (reason: string): void => {
      for (const file of [files.views, files.audit]) file.renew(reason)
    },
  }
  const caches = logCaches(memory)
  const ahead = readAheadOf(places, log)
  const index = new AuditProjection({
    ...{ store: stores.audit.store, index: files.audit, sealer, memory, isAlone: true },
    readAhead: ahead,
  })
  const parts = {
    ...{ index, files, stores },
    runs: new RunListProjection(stores.views.store, files.views),
    logs: logIndexing(logDeps, {
      ...{ projection: new LogProjection(logDeps, origin, caches), kept: loadCheckpoints(places.kept, log), origin },
      heads: new StreamHeads({ logStore: files.logs, cache: caches.heads }),
    }),
    keysChanged: async () => {
      sealer.reload()
      logKeys.reload()
      await openLedgerIdentity(founding)
    },
  }
  return {
    parts,
    progress: () => ({
      building: {
        ...(index.building && { audit: index.building }),
        ...(parts.logs.building && { logs: parts.logs.building }),
      },
      indexing: index.progress,
    }),
    close: () => {
      for (const file of Object.values(files)) file[Symbol.dispose]()
    },
  }
}

function openFiles({ paths }: IndexingPlaces, keys: WatchedKeys, host: Host) {
  const options = (file: FileName, guard: DerivedFileOptions['guard']): DerivedFileOptions => ({
    ...{ path: paths[file], guard },
    onRenewed: ({ reason }) => host.tell('renewed', [file, reason]),
  })
  return {
    views: openSqliteViews(options('views', fileGuard(keys, 'views'))),
    audit: openSqliteAudit(options('audit', fileGuard(keys, 'audit'))),
    logs: openSqliteLogs(options('logs', logFileGuard(keys))),
  }
}

/** Undefined with a single processor, and in a bundled program, which does not contain the program of the thread. */
function readAheadOf({ store }: IndexingPlaces, log: Log): ProjectionDeps['readAhead'] {
  const file = workerProgram(() => new URL('../../programs/index-ahead-worker.js', import.meta.url))
  if (file === undefined || availableParallelism() < 2) return undefined
  const places = { store } satisfies AheadPlaces
  const onLost = (reason: string): void =>
    log.warn({ reason }, "the auditors' index is made without a thread that reads ahead")
  return (range) => indexAhead({ file, places, onLost }, range)
}

/** A file that was damaged after the start is left unchanged: the next start refuses it and says how to fix it. */
function loadCheckpoints(path: string | undefined, log: Log): CheckpointFile | undefined {
  if (path === undefined) return undefined
  const kept = new CheckpointFile(path)
  try {
    kept.load()
    return kept
  } catch (error) {
    log.error({ reason: reasonOf(error) }, 'the last checkpoints are not kept in their file any more')
    return undefined
  }
}

/** A log that forwards its lines to the thread that has the real log. */
function logTo(host: Host): Log {
  const line = (level: keyof Log) => (fields: object, message: string) => {
    try {
      host.tell('log', [level, fields, message])
    } catch {
      // A field cannot be cloned to another thread: the line is sent without its fields.
      host.tell('log', [level, {}, message])
    }
  }
  return { info: line('info'), warn: line('warn'), error: line('error') }
}

await serveThread(begin, THREAD_ERRORS)
