/**
 * @module Decides which thread updates the files that follow the store: this thread until another thread has taken them over, then that thread.
 * Defines the calls between the ledger and that thread in both directions.
 */
import type { StreamPath } from '../merkle/stream-tree.ts'
import type { AppendResult } from '../store/event-store.ts'
import type { IndexProgress } from './audit/index-building.ts'
import type { SealFault } from './identity/sealer.ts'
import type { LogFact } from './log/log-deps.ts'

/**
 * The thread that owns the files. Each task continues after the last one and runs up to the end of the store at the time of the call, so that events
 * acknowledged before the call are in the file afterwards. Rejects with `StoreUnavailableError` (or its subclass `ViewBehindError`) if the file
 * cannot get that far.
 */
export interface Remote {
  readonly logs: LogIndexing
  /** A counter that changes whenever faults may have been added to the run list. */
  readonly faults: number
  /** Progress of the index pass that is running, or of the last one. */
  readonly indexing: IndexProgress
  /** Defined only while the index still has far to go. */
  readonly indexBuilding: IndexProgress | undefined
  listRuns(signal?: AbortSignal): Promise<void>
  index(signal?: AbortSignal): Promise<void>
  /** The trust that readers in other threads have in the index: see `IndexOwner` in `src/store/sqlite/audit-snapshots.ts`. */
  readonly indexOwner: {
    vouch(damage?: string): Promise<string | undefined>
    opening(): Promise<void>
    opened(): Promise<void>
  }
}

/** Brings the logs up to date with the store and signs them. An aborted operation stops where it is; the next pass continues from there. */
export interface LogIndexing {
  /** Defined only while the logs still have far to go. */
  readonly building: IndexProgress | undefined
  /** Follows the store up to its end at the time of the call. */
  catchUp(signal?: AbortSignal): Promise<void>
  /** Signs every log that is due and keeps the checkpoints. Resolves to the number of logs signed. */
  sign(signal?: AbortSignal): Promise<number>
  /** Rebuilds stream heads that are missing from the file. */
  restoreHeads(signal?: AbortSignal): Promise<void>
  /** Head and path of a stream in the tree of `size` leaves; undefined if that is not the current tree, or if the path does not lead to `root`. */
  streamPath(tenant: string, stream: string, size: number, root: Uint8Array): Promise<StreamPath | undefined>
}

export interface Indexing {
  /** The thread that owns the files; undefined while this thread owns them. */
  readonly remote: Remote | undefined
  /** Runs work on the files: `here` while this thread owns them, otherwise `inThread`. The other thread never takes the files while `here` is running. */
  do<T>(here: () => Promise<T>, inThread: (it: Remote) => Promise<T>): Promise<T>
  /**
   * While another thread is about to take the files, a promise that resolves when it has them or has failed to start; otherwise undefined. Rejects
   * with `StoreUnavailableError` if the server closes.
   */
  coming(): Promise<void> | undefined
  /** Notifies the other thread that new keys have been recorded. */
  keysChanged(): void
}

/** Operations that only the thread that writes the store can perform. */
export interface IndexingHost {
  /** Seals one of the ledger's own facts and appends it. */
  append(fact: LogFact): Promise<AppendResult>
  /** Called when an event that was read does not verify. */
  onFault(fault: SealFault): void
}

/** Called once the identity of the ledger is known. */
export type BeginIndexing = (host: IndexingHost) => Indexing

/** The default: no other thread takes the files. */
export const LOCAL: Indexing = {
  remote: undefined,
  do: (here) => here(),
  coming: () => undefined,
  keysChanged: () => undefined,
}
