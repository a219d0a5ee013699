/**
 * @module Who brings the files that follow the store up to it: this thread, until another one has taken them over, and that one from then on. What
 * the ledger asks of it, and what it asks back.
 */
import type { StreamPath } from '../merkle/stream-tree.ts'
import type { AppendResult } from '../store/event-store.ts'
import type { IndexProgress } from './audit/index-building.ts'
import type { SealFault } from './identity/sealer.ts'
import type { LogFact } from './log/log-deps.ts'

/**
 * The thread that has the files. Each task goes on from what came since the last one, up to where the store is at the call: what was acknowledged
 * before is in the file afterwards. Rejects with `StoreUnavailableError`, `ViewBehindError` among them, where the file cannot get there.
 */
export interface Remote {
  readonly logs: LogIndexing
  /** Another number whenever faults may have come in with the run list. */
  readonly faults: number
  /** Of the index's pass that runs, or ran last. */
  readonly indexing: IndexProgress
  /** While the index has a way to go. */
  readonly indexBuilding: IndexProgress | undefined
  listRuns(signal?: AbortSignal): Promise<void>
  index(signal?: AbortSignal): Promise<void>
  /** The index as its readers in other threads believe it: see `IndexOwner` of `src/store/sqlite/audit-snapshots.ts`. */
  readonly indexOwner: {
    vouch(damage?: string): Promise<string | undefined>
    opening(): Promise<void>
    opened(): Promise<void>
  }
}

/** What brings the logs up to the store and signs them. Aborted, each stops where it is: the next pass goes on. */
export interface LogIndexing {
  /** While the logs have a way to go. */
  readonly building: IndexProgress | undefined
  /** Follows the store to where it is at the call. */
  catchUp(signal?: AbortSignal): Promise<void>
  /** Signs every log that is due and keeps what it signed; how many it signed. */
  sign(signal?: AbortSignal): Promise<number>
  /** Makes the heads of streams again that the file lacks. */
  restoreHeads(signal?: AbortSignal): Promise<void>
  /** Head and path of a stream in the tree of `size` leaves; undefined where that is not the present one, or it does not make `root`. */
  streamPath(tenant: string, stream: string, size: number, root: Uint8Array): Promise<StreamPath | undefined>
}

export interface Indexing {
  /** The thread that has the files; undefined while this one has them. */
  readonly remote: Remote | undefined
  /** Work on the files: in this thread while they are its own, else in the one that has taken them over, which it never does amid `here`. */
  do<T>(here: () => Promise<T>, inThread: (it: Remote) => Promise<T>): Promise<T>
  /** Where another thread is about to take the files: resolves when it has them, or could not begin. Undefined where none is. Rejects with `StoreUnavailableError` where the server closes. */
  coming(): Promise<void> | undefined
  /** New keys are on record. */
  keysChanged(): void
}

/** What only the thread that writes the store can do. */
export interface IndexingHost {
  /** Seals a fact of the ledger's own and appends it. */
  append(fact: LogFact): Promise<AppendResult>
  /** An event that was read does not verify. */
  onFault(fault: SealFault): void
}

/** Called once the ledger's identity is known. */
export type BeginIndexing = (host: IndexingHost) => Indexing

/** No other thread takes the files. */
export const LOCAL: Indexing = {
  remote: undefined,
  do: (here) => here(),
  coming: () => undefined,
  keysChanged: () => undefined,
}
