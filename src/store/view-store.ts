/**
 * @module The view port: disposable tables that projections keep, with the position they have reached, in one local file.
 * Losing the file loses nothing: it is rebuilt from the event store.
 */
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
  /** Whom the actor started it for, where that is somebody else. */
  readonly principal?: string
  readonly startedAt: string
  readonly updatedAt: string
  readonly revision: number
  readonly step: number
  readonly rejections: number
  readonly calls: number
  /** What an open run waits for: approvals, signals, times. */
  readonly waiting: number
  /** Of these the approvals that somebody can still decide. */
  readonly approvals: number
  /** An open run that accepted something suspect: some of that may be open. */
  readonly suspects: boolean
  /** Calls without an outcome, those of models aside: claimed, or in doubt. */
  readonly openCalls: number
  /** Of the open calls, those in doubt. */
  readonly inDoubtCalls: number
  /** When the first lease of the other open calls ends; RFC 3339, UTC. */
  readonly leaseUntil?: string
  /** How the last rollback of the whole run ended. */
  readonly compensation?: string
  readonly tokens: number
  /** Decimal string; undefined where the run has no currency. */
  readonly cost?: string
  readonly currency?: string
  /** JSON of what the projection needs to fold on; opaque to the store. */
  readonly fold: string
}

/** Filters combine by AND. Keys come from this type alone: none is taken from a request. */
export interface RunFilter {
  readonly tenant: string
  readonly status?: string
  readonly name?: string
  readonly tag?: string
  readonly agent?: string
  /** Only runs with this text in their id, name, tags or agents, or in the name of who started them or for whom; in any case. */
  readonly contains?: string
  /** Only runs in which a handoff was refused. */
  readonly refused?: true
  /** Only runs that wait for a decision, a signal or a time. */
  readonly waiting?: true
  /** Only runs that wait for somebody's decision. */
  readonly withApprovals?: true
  /** Only runs that may have an open suspect. */
  readonly withSuspects?: true
  /** Only runs whose last rollback ended so. */
  readonly compensation?: string
  /** Only runs with a call that has no outcome. */
  readonly withOpenCalls?: true
  /** Only runs with a call in doubt. */
  readonly inDoubt?: true
  /** Only runs with an open call whose lease ended before this time; RFC 3339, UTC. */
  readonly leaseOverAt?: string
  /** RFC 3339; inclusive, by start of the run. */
  readonly since?: string
  /** RFC 3339; exclusive, by start of the run. */
  readonly until?: string
  /** Only rows after this one in (startedAt, runId) descending order. */
  readonly after?: RunPlace
  readonly limit: number
}

/** An event on record as not being the one that was sealed for its place, or as gone. */
export interface FaultRow {
  readonly tenant: string
  readonly stream: string
  readonly revision: number
  readonly code: string
  /** When it was recorded; RFC 3339, UTC. */
  readonly foundAt: string
}

/** Of a run in the list. */
export interface RunPlace {
  readonly startedAt: string
  readonly runId: string
}

/** `next`: the rows do not fill the page, and there are runs behind this place that nobody looked at. */
export interface RunWindow {
  readonly rows: readonly RunRow[]
  readonly next?: RunPlace
}

/** A cached fold of one run. `text` is opaque here; its mac is checked by the ledger that wrote it. */
export interface FoldRow {
  readonly stream: string
  readonly revision: number
  readonly projection: string
  readonly text: string
  readonly mac: string
}

/** The last record that a projection has seen: another one in its place is another store, or an older copy of this one. */
export interface ViewCheckpoint {
  readonly position: Position
  /** Of its header text. */
  readonly digest: string
}

export interface ViewProgress extends ViewCheckpoint {
  readonly projection: string
  readonly version: number
  /** Position that the rows were folded from. */
  readonly from: Position | undefined
}

export interface ViewStore extends DerivedFile {
  /** Whether the rows of runs are those that this ledger's processes wrote. Reads all of them where that is not known. */
  isAuthentic(): Promise<boolean>
  /** Notes beside the file what it holds now: see `AuditIndex`. */
  noteFile(): void
  /** Where the projection has got to; undefined before its first write or after its version changed. */
  checkpoint(projection: string, version: number): ViewCheckpoint | undefined
  runRow(tenant: string, runId: string): RunRow | undefined
  /** Rows, faults and the new checkpoint in one transaction; false, and nothing, where `from` is no longer the checkpoint's position. */
  saveRuns(rows: readonly RunRow[], to: ViewProgress, faults?: readonly FaultRow[]): boolean
  /** Newest first, of a bounded number of runs that are looked at (`looked`), whether they fit or not. */
  listRuns(filter: RunFilter, looked?: number): RunWindow
  /** Calls in doubt of all tenants, in the first `runs` runs that have an open call. */
  callsInDoubt(runs: number): number
  /** Of a tenant, or of all; in order of stream and revision. */
  faults(of: { readonly tenant?: string; readonly stream?: string; readonly limit: number }): readonly FaultRow[]
  /** A text of one of the ledger's followers, which survives a start. */
  note(name: string): string | undefined
  saveNote(name: string, text: string): void
  loadFold(stream: string, projection: string): FoldRow | undefined
  saveFold(row: FoldRow): void
}
