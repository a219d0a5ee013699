/** @module The side of the thread that writes the files: brings each up to the store when it is requested, and tells what came of it. */
import type { AuditProjection } from '../ledger/audit/audit-projection.ts'
import type { LogIndexing } from '../ledger/indexing.ts'
import type { Log } from '../ledger/ports.ts'
import type { RunListProjection } from '../ledger/read/run-list-projection.ts'
import type { AuditIndex } from '../store/audit-index.ts'
import type { DerivedFile } from '../store/derived-file.ts'
import type { ViewStore } from '../store/view-store.ts'
import type { Handlers } from '../workers/peer.ts'
import type { PinnedStore } from './pinned-store.ts'
import type { FileName, IndexingCalls } from './protocol.ts'

export interface IndexingParts {
  readonly runs: Pick<RunListProjection, 'pass' | 'faults'>
  readonly index: Pick<AuditProjection, 'pass' | 'progress' | 'building'>
  readonly logs: LogIndexing
  readonly files: {
    readonly views: Pick<ViewStore, 'saveFold' | 'saveNote' | 'renew'>
    readonly audit: Pick<AuditIndex, 'renew' | 'isAuthentic' | 'knownState' | 'opening' | 'opened'>
    readonly logs: Pick<DerivedFile, 'renew'>
  }
  /** The store as each of them follows it. */
  readonly stores: Readonly<Record<FileName, PinnedStore>>
  readonly keysChanged: () => Promise<void>
}

/** What the thread answers, and what it does when it is told. */
export function indexingHandlers(
  { runs, index, logs, files, stores, keysChanged }: IndexingParts,
  log: Pick<Log, 'warn'>,
): Handlers<IndexingCalls> {
  /** As last told; undefined before the first pass, when nobody knows what the threads before this one have seen. */
  let faultsTold: number | undefined
  const warn = (error: unknown, message: string): void =>
    log.warn({ reason: error instanceof Error ? error.message : String(error) }, message)
  /** Nobody waits for it: a cached fold that is lost costs time, the place of the scrub comes with its next slice. */
  const write = (work: () => void): void => {
    try {
      work()
    } catch (error) {
      warn(error, 'a file that follows the store takes no writes now')
    }
  }
  return {
    listRuns: async (until, signal) => {
      await stores.views.reach(until)
      await runs.pass(() => !signal.aborted)
      const before = faultsTold
      faultsTold = runs.faults
      return faultsTold !== before
    },
    index: async (until, signal) => {
      await stores.audit.reach(until)
      await index.pass(() => !signal.aborted)
    },
    followLogs: async (until, signal) => {
      await stores.logs.reach(until)
      await logs.catchUp(signal)
    },
    signLogs: async (until, signal) => {
      await stores.logs.reach(until)
      return await logs.sign(signal)
    },
    restoreHeads: async (until, signal) => {
      await stores.logs.reach(until)
      await logs.restoreHeads(signal)
    },
    streamPath: (tenant, stream, size, root) => logs.streamPath(tenant, stream, size, root),
    vouch: async (damage) => {
      if (damage !== undefined) files.audit.renew(damage)
      return (await files.audit.isAuthentic()) ? files.audit.knownState() : undefined
    },
    opening: () => files.audit.opening(),
    opened: () => files.audit.opened(),
    saveFold: (row) => write(() => files.views.saveFold(row)),
    saveNote: (name, text) => write(() => files.views.saveNote(name, text)),
    renew: (file, reason) => write(() => files[file].renew(reason)),
    keysChanged: () =>
      keysChanged().catch((error: unknown) =>
        warn(error, 'the thread that follows the store has not taken the new keys over'),
      ),
  }
}
