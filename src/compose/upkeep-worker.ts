/** @module Entry of the thread that writes the files that follow the store: a read-only connection to the store, the files, and the keys that seal them. */
import { availableParallelism } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { AuditProjection, type ProjectionDeps } from '../ledger/audit/audit-projection.ts'
import type { IndexProgress } from '../ledger/audit/index-building.ts'
import { realEffects } from '../ledger/effects.ts'
import { fileGuard, logFileGuard } from '../ledger/identity/file-guard.ts'
import { openLedgerIdentity } from '../ledger/identity/ledger-identity.ts'
import { LogKeys } from '../ledger/identity/log-keys.ts'
import { Sealer } from '../ledger/identity/sealer.ts'
import { CheckpointFile } from '../ledger/log/checkpoint-file.ts'
import { logCaches } from '../ledger/log/log-caches.ts'
import { LogProjection } from '../ledger/log/log-projection.ts'
import { logUpkeep } from '../ledger/log/log-upkeep.ts'
import { StreamHeads } from '../ledger/log/stream-heads.ts'
import type { Log } from '../ledger/ports.ts'
import { RunListProjection } from '../ledger/read/run-list-projection.ts'
import { threadGivesWay } from '../resources/give-way.ts'
import { MemoryBudget } from '../resources/memory-budget.ts'
import type { WatchedKeys } from '../settings/key-source.ts'
import type { KeyPlace } from '../settings/places.ts'
import { reasonOf } from '../settings/reason-of.ts'
import type { DerivedFileOptions } from '../store/derived-file.ts'
import type { StoreReader } from '../store/event-store.ts'
import { readOnlyStore } from '../store/read-only-store.ts'
import { openSqliteAudit } from '../store/sqlite/sqlite-audit.ts'
import { openSqliteLogs } from '../store/sqlite/sqlite-log.ts'
import { openSqliteReader } from '../store/sqlite/sqlite-reader.ts'
import { openSqliteViews } from '../store/sqlite/sqlite-views.ts'
import { indexAhead } from '../upkeep/index-ahead.ts'
import { PinnedStore } from '../upkeep/pinned-store.ts'
import type { FileName, FromUpkeep, ToUpkeep } from '../upkeep/protocol.ts'
import { HostAppends, UpkeepKeeper } from '../upkeep/upkeep-keeper.ts'
import { workerProgram } from '../workers/worker-program.ts'
import type { AheadPlaces } from './index-ahead-worker.ts'
import { keysAt } from './worker-parts.ts'

export interface UpkeepPlaces {
  /** File of the store. */
  readonly store: string
  readonly keys: KeyPlace
  readonly paths: Readonly<Record<FileName, string>>
  /** Of the last checkpoints. */
  readonly kept?: string
  /** The budget that its shares are of. */
  readonly memoryBytes: number
}

const STATE_EVERY_MS = 500

type Say = (message: FromUpkeep) => void

interface Opened {
  readonly keeper: UpkeepKeeper
  readonly indexing: () => IndexProgress
  readonly close: () => void
}

async function serve(port: MessagePort, places: UpkeepPlaces): Promise<void> {
  const say: Say = (message) => port.postMessage(message)
  using keys = keysAt(places.keys)
  using reader = openSqliteReader({ path: places.store })
  let taken: (opened: Promise<Opened>) => void = () => undefined
  const opening = new Promise<Opened>((resolve) => {
    taken = resolve
  })
  const ended = new Promise<void>((resolve) => {
    port.on('message', (message: ToUpkeep) => {
      if (message.kind === 'take') taken(open(places, { keys, reader, say }))
      else if (message.kind === 'end') resolve()
      else opening.then(({ keeper }) => keeper.receive(message)).catch(() => undefined)
    })
  })
  say({ kind: 'ready' })
  const { keeper, indexing, close } = await opening
  // From here on: whoever waits for the files to be opened waits for all of it.
  threadGivesWay({ isWaitedFor: true })
  const telling = setInterval(() => {
    const heapBytes = getHeapStatistics().used_heap_size
    say({ kind: 'state', state: { heapBytes, building: keeper.building(), indexing: indexing() } })
  }, STATE_EVERY_MS)
  await ended
  clearInterval(telling)
  await keeper.end()
  close()
}

interface Sources {
  readonly keys: WatchedKeys
  readonly reader: StoreReader
  readonly say: Say
}

/** The files, and what brings them up to the store. */
async function open(places: UpkeepPlaces, { keys, reader, say }: Sources): Promise<Opened> {
  const memory = new MemoryBudget(places.memoryBytes)
  const sealer = new Sealer(keys, memory)
  sealer.onFault((fault) => say({ kind: 'fault', fault }))
  const logKeys = new LogKeys(keys)
  const log = logTo(say)
  const files = openFiles(places, keys, say)
  const identity = { store: readOnlyStore(reader), views: files.views, keys, sealer, logKeys, log, readOnly: true }
  const founding = { ...identity, effects: realEffects() }
  const { origin } = await openLedgerIdentity(founding)
  const stores = { views: new PinnedStore(reader), audit: new PinnedStore(reader), logs: new PinnedStore(reader) }
  const appends = new HostAppends(say)
  const logDeps = {
    ...{ store: stores.logs.store, logStore: files.logs, logKeys, sealer, memory, log },
    ...{ effects: founding.effects, append: appends.append.bind(appends), appendsSoFar: () => 0 },
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
    logs: logUpkeep(logDeps, {
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
    keeper: new UpkeepKeeper(parts, appends, { say, warn: log.warn }),
    indexing: () => index.progress,
    close: () => {
      for (const file of Object.values(files)) file[Symbol.dispose]()
    },
  }
}

function openFiles({ paths }: UpkeepPlaces, keys: WatchedKeys, say: Say) {
  const options = (file: FileName, guard: DerivedFileOptions['guard']): DerivedFileOptions => ({
    ...{ path: paths[file], guard },
    onRenewed: ({ reason }) => say({ kind: 'renewed', file, reason }),
  })
  return {
    views: openSqliteViews(options('views', fileGuard(keys, 'views'))),
    audit: openSqliteAudit(options('audit', fileGuard(keys, 'audit'))),
    logs: openSqliteLogs(options('logs', logFileGuard(keys))),
  }
}

/** Undefined where there is one processor, and in a bundled program, which does not carry the thread's along. */
function readAheadOf({ store }: UpkeepPlaces, log: Log): ProjectionDeps['readAhead'] {
  const file = workerProgram(() => new URL('../../programs/index-ahead-worker.js', import.meta.url))
  if (file === undefined || availableParallelism() < 2) return undefined
  const places = { store } satisfies AheadPlaces
  const onLost = (reason: string): void =>
    log.warn({ reason }, "the auditors' index is made without a thread that reads ahead")
  return (range) => indexAhead({ file, places, onLost }, range)
}

/** One that was damaged since the start is left as it is: the next start refuses it and says what to do. */
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

/** The log of the thread that has one. */
function logTo(say: Say): Log {
  const line = (level: keyof Log) => (fields: object, message: string) => {
    try {
      say({ kind: 'log', level, fields, message })
    } catch {
      // Something in it does not pass from one thread to another.
      say({ kind: 'log', level, fields: {}, message })
    }
  }
  return { info: line('info'), warn: line('warn'), error: line('error') }
}

const port = parentPort
if (port === null) throw new Error('upkeep runs in a worker thread')
try {
  await serve(port, workerData as UpkeepPlaces)
} catch (error) {
  const message = reasonOf(error)
  port.postMessage({ kind: 'open-failed', message } satisfies FromUpkeep)
}
// After the last word of this turn.
setImmediate(() => port.close())
