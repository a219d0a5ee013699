/** @module The reader threads of a store in a file; their program is `reader-worker.ts`. */
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type { SealFault } from '../ledger/identity/sealer.ts'
import { LOCAL as IN_THIS_THREAD, type Indexing } from '../ledger/indexing.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Log } from '../ledger/ports.ts'
import { ReaderThreads } from '../read-workers/reader-threads.ts'
import { SideBySide } from '../read-workers/side-by-side.ts'
import type { Settings } from '../settings/config.ts'
import { AUDIT_FILE, LOG_FILE } from '../settings/places.ts'
import type { AuditIndex } from '../store/audit-index.ts'
import type { IndexOwner } from '../store/sqlite/audit-snapshots.ts'
import { workerProgram } from '../workers/worker-program.ts'
import type { ReaderPlaces } from './reader-worker.ts'

/** Size of the young generation: a reader hands over its results and drops them. Twice the size costs a server about 25 MiB and saves no time. */
const YOUNG_BYTES = 16 * 1024 * 1024

export interface ReadersDeps {
  readonly index: AuditIndex
  /** The owner of the index; this thread if absent. */
  readonly indexing?: Pick<Indexing, 'do'> | undefined
  /** Receives reports of events that do not verify. */
  readonly ledger: () => Pick<Ledger, 'integrity'> | undefined
}

/** Undefined if no reader is configured, if the store is not a file, and in a bundled program, which does not contain the program of the readers. */
export function openReaders(
  { store, keys, data, readThreads }: Settings,
  log: Log,
  { index, indexing = IN_THIS_THREAD, ledger }: ReadersDeps,
): ReaderThreads | undefined {
  if (readThreads === 0 || store.kind !== 'sqlite') return undefined
  const file = readerProgram()
  if (file === undefined) return undefined
  const workerData = placesOf(store.path, { keys, data })
  const onFault = reportTo(ledger)
  return new ReaderThreads({
    ...{ count: readThreads, file, workerData, log, onFault, index: ownerOf(index, indexing) },
    youngBytes: YOUNG_BYTES,
  })
}

/** Number of writers in addition to this thread, which joins their output: more of them help only while it keeps up. */
const WRITERS_MAX = 4

export interface ExportThreads extends AsyncDisposable {
  readonly bodies: SideBySide
}

/**
 * Threads that help this one to write an export of a store that no process serves: they use all processors. Undefined if there is only one processor, if the
 * store is not a file, and in a bundled program.
 */
export function openExportThreads(
  { store, keys, data }: Pick<Settings, 'store' | 'keys' | 'data'>,
  { log, ledger }: { readonly log: Log; readonly ledger: Pick<Ledger, 'integrity'> },
): ExportThreads | undefined {
  const count = Math.min(availableParallelism() - 1, WRITERS_MAX)
  const file = readerProgram()
  if (count === 0 || store.kind !== 'sqlite' || file === undefined) return undefined
  const workerData: ReaderPlaces = { ...placesOf(store.path, { keys, data }), isAlone: true }
  const onFault = reportTo(() => ledger)
  const readers = new ReaderThreads({ count, file, workerData, log, onFault, index: NO_INDEX })
  return { bodies: new SideBySide({ readers }), [Symbol.asyncDispose]: () => readers[Symbol.asyncDispose]() }
}

/** Export threads never use the index. */
const NO_INDEX: IndexOwner = {
  vouch: async () => undefined,
  opening: async () => undefined,
  opened: async () => undefined,
}

function readerProgram(): URL | undefined {
  return workerProgram(() => new URL('../../programs/reader-worker.js', import.meta.url))
}

function placesOf(store: string, { keys, data }: Pick<Settings, 'keys' | 'data'>): ReaderPlaces {
  return { store, keys, logs: join(data, LOG_FILE), audit: join(data, AUDIT_FILE) }
}

function reportTo(ledger: ReadersDeps['ledger']): (fault: SealFault) => void {
  return (fault) => ledger()?.integrity.reported(fault)
}

function ownerOf(index: AuditIndex, indexing: Pick<Indexing, 'do'>): IndexOwner {
  const vouch = async (damage?: string): Promise<string | undefined> => {
    if (damage !== undefined) index.renew(damage)
    return (await index.isAuthentic()) ? index.knownState() : undefined
  }
  return {
    vouch: (damage) =>
      indexing.do(
        () => vouch(damage),
        (it) => it.indexOwner.vouch(damage),
      ),
    opening: () =>
      indexing.do(
        async () => index.opening(),
        (it) => it.indexOwner.opening(),
      ),
    opened: () =>
      indexing.do(
        async () => index.opened(),
        (it) => it.indexOwner.opened(),
      ),
  }
}
