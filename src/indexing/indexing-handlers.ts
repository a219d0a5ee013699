/** @module Handlers of the thread that writes the derived files: each brings a file up to the store on request and reports the result. */
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
  /** The store as each file follows it. */
  readonly stores: Readonly<Record<FileName, PinnedStore>>
  readonly keysChanged: () => Promise<void>
}

/** Handlers for the calls and the notifications that the thread receives. */
export function indexingHandlers(
  { runs, index, logs, files, stores, keysChanged }: IndexingParts,
  log: Pick<Log, 'warn'>,
): Handlers<IndexingCalls> {
  /** Number of faults at the last report; undefined before the first pass, when the faults seen by earlier threads are unknown. */
  let faultsTold: number | undefined
  const warn = (error: unknown, message: string): void =>
    log.warn({ reason: error instanceof Error ? error.message : String(error) }, message)
  /** No caller waits for these writes: a lost cached fold only costs time, and the next slice of the scrub saves its place again. */
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
