/**
 * @module The view port: disposable tables that projections maintain, with the position they have reached, in one local file. The file can be lost without
 * loss of data: it is rebuilt from the event store.
 */
import type { StuckState } from '../../schemas/run-status.ts'
import type { DerivedFile } from './derived-file.ts'
import type { Position } from './event-store.ts'

/** One row of the run list. */
export interface RunRow {
  readonly tenant: string
  readonly runId: string
  readonly name: string
  readonly status: string
  readonly tags: readonly string[]
  readonly agents: readonly string[]
  readonly actor: string
  /** The principal on whose behalf the actor started the run, if that is not the actor. */
  readonly principal?: string
  readonly startedAt: string
  readonly updatedAt: string
  readonly revision: number
  readonly step: number
  readonly rejections: number
  readonly calls: number
  /** Number of approvals, signals and times that an open run waits for. */
  readonly waiting: number
  /** Number of approvals among them that can still be decided. */
  readonly approvals: number
  /** Whether the run is open and has accepted something suspect; some of it may still be unresolved. */
  readonly suspects: boolean
  /** Calls without an outcome, except model calls: claimed or in doubt. */
  readonly openCalls: number
  /** Number of open calls that are in doubt. */
  readonly inDoubtCalls: number
  /** When the first lease among the other open calls ends; RFC 3339, UTC. */
  readonly leaseUntil?: string
  /** Latest fence. */
  readonly fence: number
  /** The time from which a worker may carry the run on; RFC 3339, UTC. Absent while it waits for somebody, and after its end. */
  readonly dueAt?: string
  /** Until when the run is left to the worker that carries it; RFC 3339, UTC. Absent if none does. */
  readonly carriedUntil?: string
  /** Version of the code that the first worker of the run had. */
  readonly version?: string
  /** The code of the last worker could not carry the run on. */
  readonly stuck?: StuckState
  /** Outcome of the last rollback of the whole run. */
  readonly compensation?: string
  readonly tokens: number
  /** Decimal string; undefined if the run has no currency. */
  readonly cost?: string
  readonly currency?: string
  /** JSON state that the projection needs to continue folding; opaque to the store, which counts only in its `open` (`unsettled`). */
  readonly fold: string
}

/** Filters are combined with AND. Keys come from this type only: none is taken from a request. */
export interface RunFilter {
  readonly tenant: string
  readonly status?: string
  readonly name?: string
  readonly tag?: string
  readonly agent?: string
  /** Only runs that contain this text in their id, name, tags, agents, actor or principal; case-insensitive. */
  readonly contains?: string
  /** Only runs in which a handoff was refused. */
  readonly refused?: true
  /** Only runs that wait for an approval, a signal or a time. */
  readonly waiting?: true
  /** Only open runs that the code of their last worker could not carry on. */
  readonly stuck?: true
  /** Only runs that wait for an approval. */
  readonly withApprovals?: true
  /** Only runs that may have an unresolved suspect. */
  readonly withSuspects?: true
  /** Only runs whose last rollback had this outcome. */
  readonly compensation?: string
  /** Only runs with a call that has no outcome. */
  readonly withOpenCalls?: true
  /** Only runs with a call in doubt. */
  readonly inDoubt?: true
  /** Only runs with an open call whose lease ended before this time; RFC 3339, UTC. */
  readonly leaseOverAt?: string
  /** RFC 3339; inclusive, compared with the start of the run. */
  readonly since?: string
  /** RFC 3339; exclusive, compared with the start of the run. */
  readonly until?: string
  /** Only rows after this one in (startedAt, runId) descending order. */
  readonly after?: RunPlace
  readonly limit: number
}

/** Runs that a worker may carry on. */
export interface DueFilter {
  readonly tenant: string
  readonly names: readonly string[]
  /** Versions of code that the worker can carry on. Runs that no worker has carried yet have none and match. Absent: all. */
  readonly versions?: readonly string[]
  /** RFC 3339, UTC, as `Date` writes it. */
  readonly dueBy: string
  /** Only runs after this place in (dueAt, runId) order. */
  readonly after?: DuePlace
  readonly limit: number
}

/** Runs that workers carry at a time. */
export interface CarriedFilter {
  readonly tenant: string
  /** RFC 3339, UTC, as `Date` writes it: only runs whose hold ends later. */
  readonly at: string
  /** A run that is not counted. */
  readonly except?: string
  readonly limit: number
}

export interface Carried {
  readonly count: number
  readonly firstEnd: string | null
}

/** Open calls that are not settled: in the first `runs` runs that have an open call, of one tenant or of all. */
export interface UnsettledFilter {
  readonly tenant?: string
  /** RFC 3339, UTC: leases that ended before this time are over. */
  readonly leaseOverAt: string
  readonly runs: number
}

export interface UnsettledCalls {
  readonly inDoubt: number
  /** Claimed, and the lease is over. */
  readonly overdue: number
  /** Number of runs that were counted. */
  readonly runs: number
}

/** Place of a run among those that are due. */
export interface DuePlace {
  /** RFC 3339, UTC, as `Date` writes it. */
  readonly dueAt: string
  readonly runId: string
}

/** An event that is recorded as missing, or as different from the one that was sealed for its place. */
export interface FaultRow {
  readonly tenant: string
  readonly stream: string
  readonly revision: number
  readonly code: string
  /** When it was recorded; RFC 3339, UTC. */
  readonly foundAt: string
}

/** Place of a run in the list. */
export interface RunPlace {
  readonly startedAt: string
  readonly runId: string
}

/** `next`: the page is not full, and there are runs after this place that were not examined. */
export interface RunWindow {
  readonly rows: readonly RunRow[]
  readonly next?: RunPlace
}

/** A cached fold of one run. `text` is opaque here; its MAC is checked by the ledger that wrote it. */
export interface FoldRow {
  readonly stream: string
  readonly revision: number
  readonly projection: string
  readonly text: string
  readonly mac: string
}

/** The last record that a projection has read. A different record at this position means another store, or an older copy of this one. */
export interface ViewCheckpoint {
  readonly position: Position
  /** Digest of the record's header text. */
  readonly digest: string
}

export interface ViewProgress extends ViewCheckpoint {
  readonly projection: string
  readonly version: number
  /** Position that the rows were folded from; undefined for the beginning of the store. */
  readonly from: Position | undefined
}

export interface ViewStore extends DerivedFile {
  /** Whether the rows of runs were written by processes of this ledger. Reads all rows if that is not known yet. */
  isAuthentic(): Promise<boolean>
  /** Writes a note next to the file about its current content: see `AuditIndex`. */
  noteFile(): void
  /** The position the projection has reached; undefined before its first write or after its version changed. */
  checkpoint(projection: string, version: number): ViewCheckpoint | undefined
  runRow(tenant: string, runId: string): RunRow | undefined
  /** Saves rows, faults and the new checkpoint in one transaction; saves nothing and returns false if `from` is no longer the checkpoint's position. */
  saveRuns(rows: readonly RunRow[], to: ViewProgress, faults?: readonly FaultRow[]): boolean
  /** Lists matching runs, newest first. Examines at most `looked` runs, whether or not they match. */
  listRuns(filter: RunFilter, looked?: number): RunWindow
  /** Runs of these names that a worker may carry on at a time, in the order in which they became due. */
  dueRuns(of: DueFilter): readonly RunRow[]
  /** The first time after `dueBy` at which one of these runs becomes due. */
  nextDue(of: DueFilter): string | undefined
  /** Number of a tenant's runs that workers carry, at most `limit`, and when the first of their holds ends; null if there are none. */
  carried(of: CarriedFilter): Carried
  unsettled(of: UnsettledFilter): UnsettledCalls
  /** Faults of one tenant, or of all; ordered by stream and revision. */
  faults(of: { readonly tenant?: string; readonly stream?: string; readonly limit: number }): readonly FaultRow[]
  /** A text that one of the ledger's followers stored and that survives a restart. */
  note(name: string): string | undefined
  saveNote(name: string, text: string): void
  loadFold(stream: string, projection: string): FoldRow | undefined
  saveFold(row: FoldRow): void
}
