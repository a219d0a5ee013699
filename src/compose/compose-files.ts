/** @module The derived files (run list, logs, audit index, subjects): their paths, who opens them for writing, and the indexing thread that takes them over. */
import { join } from 'node:path'
import { HandedOver } from '../indexing/delegated.ts'
import { IndexingThread } from '../indexing/indexing-thread.ts'
import type { FileName } from '../indexing/protocol.ts'
import { fileGuard, logFileGuard } from '../ledger/identity/file-guard.ts'
import type { KeySource, Log } from '../ledger/ports.ts'
import type { ErasureList } from '../ledger/subjects/erasure-list.ts'
import type { Settings } from '../settings/config.ts'
import type { WatchedKeys } from '../settings/key-source.ts'
import {
  AUDIT_FILE,
  CHECKPOINTS_SUFFIX,
  ERASURES_SUFFIX,
  LOG_FILE,
  LOSS_SUFFIX,
  STORE_FILE,
  SUBJECTS_FILE,
  VIEWS_FILE,
} from '../settings/places.ts'
import type { AuditIndex } from '../store/audit-index.ts'
import type { DerivedFileOptions, DerivedFileRenewal } from '../store/derived-file.ts'
import type { EventStore } from '../store/event-store.ts'
import type { LogStore } from '../store/log-store.ts'
import { auditBesideOwner, openSqliteAudit } from '../store/sqlite/sqlite-audit.ts'
import { logsBesideOwner, openSqliteLogs } from '../store/sqlite/sqlite-log.ts'
import { openSqliteSubjects } from '../store/sqlite/sqlite-subjects.ts'
import { openSqliteViews, viewsBesideOwner } from '../store/sqlite/sqlite-views.ts'
import type { SubjectStore } from '../store/subject-store.ts'
import type { ViewStore } from '../store/view-store.ts'
import { workerProgram } from '../workers/worker-program.ts'
import { openErasureFile } from './erasure-file.ts'
import type { IndexingPlaces } from './indexing-worker.ts'

type DerivedOptions = Omit<DerivedFileOptions, 'path'>

export function openViews(settings: Settings, options: DerivedOptions = {}): ViewStore {
  return openSqliteViews({ path: derivedPath(settings, VIEWS_FILE), ...options })
}

export function openLogs(settings: Settings, options: DerivedOptions = {}): LogStore {
  return openSqliteLogs({ path: derivedPath(settings, LOG_FILE), ...options })
}

export function openAuditIndex(settings: Settings, options: DerivedOptions = {}): AuditIndex {
  return openSqliteAudit({ path: derivedPath(settings, AUDIT_FILE), ...options })
}

/** Opens the store of subject keys. Throws `StoreOpenError`. */
export function openSubjects(settings: Settings): SubjectStore {
  return openSqliteSubjects(derivedPath(settings, SUBJECTS_FILE))
}

function derivedPath({ store, data }: Settings, name: string): string {
  return store.kind === 'memory' ? ':memory:' : join(data, name)
}

/** Path next to the store's file. For a store on a server, which can lose events and their checkpoints together, each process uses its own data folder. */
export function checkpointsPath(settings: Settings): string | undefined {
  return besideStore(settings, CHECKPOINTS_SUFFIX)
}

/** Path, in the same folder, of the note about events that a process found missing in the store. */
export function lossPath(settings: Settings): string | undefined {
  return besideStore(settings, LOSS_SUFFIX)
}

/** The list of erasures; undefined unless the store is a file, because only then are subject keys kept that could outlive it. Throws `ErasureListError`. */
export function openErasures(settings: Settings, keys: KeySource): ErasureList | undefined {
  const path = settings.store.kind === 'sqlite' ? besideStore(settings, ERASURES_SUFFIX) : undefined
  return path === undefined ? undefined : openErasureFile({ path, given: settings.erasures, keys })
}

function besideStore({ store, data }: Settings, suffix: string): string | undefined {
  if (store.kind === 'memory') return undefined
  return `${store.kind === 'sqlite' ? store.path : join(data, STORE_FILE)}${suffix}`
}

export interface FollowingFiles extends AsyncDisposable {
  readonly views: ViewStore
  readonly logs: LogStore
  readonly audit: AuditIndex
  /** Absent if the thread that writes the store also writes these files. */
  readonly indexing?: IndexingThread
}

export interface FollowingOptions {
  readonly keys: WatchedKeys
  readonly log: Log
  readonly store: Pick<EventStore, 'end'>
  readonly memoryBytes: number
}

/** Opens the files in this thread; the indexing thread takes them over once the ledger starts it. Throws `StoreOpenError`. */
export function openFollowingFiles(settings: Settings, options: FollowingOptions): FollowingFiles {
  const { keys, log } = options
  const onRenewed = (renewal: DerivedFileRenewal): void =>
    log.warn(renewal, 'a file that follows the store is rebuilt from it')
  const opened: Disposable[] = []
  const open = <T extends Disposable>(file: T): T => {
    opened.push(file)
    return file
  }
  const close = (): void => {
    for (const file of opened.splice(0).reverse()) file[Symbol.dispose]()
  }
  try {
    const views = open(openViews(settings, { onRenewed, guard: fileGuard(keys, 'views') }))
    const logs = open(openLogs(settings, { onRenewed, guard: logFileGuard(keys) }))
    const audit = open(openAuditIndex(settings, { onRenewed, guard: fileGuard(keys, 'audit') }))
    const program = indexingProgram(settings)
    if (program === undefined || settings.store.kind !== 'sqlite')
      return { views, logs, audit, [Symbol.asyncDispose]: async () => close() }
    return inThread(settings, {
      ...options,
      path: settings.store.path,
      program,
      onRenewed,
      own: { views, logs, audit },
    })
  } catch (error) {
    close()
    throw error
  }
}

/** Undefined if no thread is configured, and in a bundled program, which does not contain the program of the thread. */
function indexingProgram({ indexingThread }: Settings): URL | undefined {
  if (indexingThread === undefined) return undefined
  if (indexingThread.program !== undefined) return indexingThread.program
  return workerProgram(() => new URL('../../programs/indexing-worker.js', import.meta.url))
}

interface InThread extends FollowingOptions {
  /** Path of the store's file. */
  readonly path: string
  readonly program: URL
  readonly onRenewed: (renewal: DerivedFileRenewal) => void
  readonly own: { readonly views: ViewStore; readonly logs: LogStore; readonly audit: AuditIndex }
}

function inThread(
  settings: Settings,
  { path, program, onRenewed, own, store, log, memoryBytes }: InThread,
): FollowingFiles {
  const { keys } = settings
  const paths = {
    views: derivedPath(settings, VIEWS_FILE),
    audit: derivedPath(settings, AUDIT_FILE),
    logs: derivedPath(settings, LOG_FILE),
  }
  const renew = (file: FileName) => (reason: string) => thread.tell('renew', [file, reason])
  const beside = {
    views: viewsBesideOwner({ path: paths.views, renew: renew('views') }),
    audit: auditBesideOwner({ path: paths.audit, renew: renew('audit') }),
    logs: logsBesideOwner({ path: paths.logs, renew: renew('logs') }),
  }
  const kept = checkpointsPath(settings)
  const places: IndexingPlaces = { store: path, keys, paths, memoryBytes, ...(kept !== undefined && { kept }) }
  const handOver = (): void => {
    for (const { open } of Object.values(beside)) open()
    views.handOver(beside.views.file, {
      saveFold: (row) => thread.tell('saveFold', [row]),
      saveNote: (name, text) => thread.tell('saveNote', [name, text]),
    })
    logs.handOver(beside.logs.file, {})
    audit.handOver(beside.audit.file, {})
  }
  const thread = new IndexingThread({
    ...{ file: program, workerData: places, store, log, handOver, startMs: settings.indexingThread?.startMs },
    onRenewed: (file, reason) => {
      onRenewed({ file: paths[file], reason })
      beside[file].renewed()
    },
  })
  const [views, logs, audit] = [new HandedOver(own.views), new HandedOver(own.logs), new HandedOver(own.audit)]
  return {
    ...{
      views: views.file,
      logs: logs.file,
      audit: audit.file,
      indexing: thread,
    },
    [Symbol.asyncDispose]: async () => {
      // Closed here first, so that the thread is the last one to close its files.
      for (const { file } of [views, logs, audit]) file[Symbol.dispose]()
      await thread[Symbol.asyncDispose]()
    },
  }
}
