/**
 * @module The port of the auditors' index: what every event says, in the order of its tenant's log, in one local file. Rows never
 * change, so that whatever is asked as of a size of the log gets the same answer later. Losing the file loses nothing: it is rebuilt.
 */
import type { AuditRow } from '../../schemas/audit-fields.ts'
import type { EventQuery } from '../../schemas/event-query.ts'
import type { DerivedFile } from './derived-file.ts'
import type { Position } from './event-store.ts'

/** What an event adds to the bill. Money in 1e-9 units, signed. */
export interface ChargeRow {
  readonly agent: string
  readonly tokens: number
  readonly costNano: bigint
  readonly currency?: string
  readonly provider?: string
  readonly model?: string
}

export interface AuditEntry {
  readonly row: AuditRow
  readonly charges: readonly ChargeRow[]
  /** Words to be found by; empty: none. */
  readonly text: string
}

export interface AuditBatch {
  readonly entries: readonly AuditEntry[]
  /** State of each stream's charges, as JSON. */
  readonly states: ReadonlyMap<string, string>
  /** Streams that are none of the ledger's: no row is made of them. */
  readonly foreign: readonly string[]
  readonly progress: AuditProgress
  /** One of many that follow each other: what finds words is put in order when they are over. Default: this one is not. */
  readonly isBulk?: boolean
}

/** The last record that was looked at: another event in its place is another store, or an older copy of this one. */
export interface AuditProgress {
  readonly position: Position
  /** Of its header text. */
  readonly digest: string
}

/** The first `size` events of a tenant's log. */
export interface AuditPin {
  readonly size: number
  /** Of its last event. */
  readonly position: Position
  readonly eventId: string
}

/** What a read is confined to: a tenant, and the log as it was. */
export interface AuditView {
  readonly tenant: string
  readonly size: number
}

export interface AuditFilter extends Omit<EventQuery, 'text'> {
  /** Words, each phrase several that stand together. */
  readonly phrases?: readonly (readonly string[])[]
  readonly reservation?: string
  /** Only events whose writer's clock was behind. */
  readonly clocked?: boolean
}

export interface LeafPage {
  /** Exclusive; undefined begins at the start of the order. */
  readonly after: number | undefined
  /** Inclusive: no further than this is looked. */
  readonly upTo?: number
  readonly limit: number
  readonly newestFirst?: boolean
}

/** Groups of rows are paged by their key. */
export interface KeyPage {
  readonly after: readonly string[] | undefined
  readonly limit: number
}

export interface RunGroup {
  readonly run: string
  readonly events: number
  readonly firstRevision: number
  readonly lastRevision: number
  readonly firstTime: string
  readonly lastTime: string
  readonly rejections: number
  /** The last event that ends a run; absent while the run is open. */
  readonly end?: { readonly leaf: number; readonly type: string }
}

/** A stretch of the log that one statement looks through: leaves after `after` up to `upTo`. */
export interface LeafWindow {
  readonly after: number
  readonly upTo: number
}

/** Where a walk over all runs stands: by run, then by revision. */
export interface RunPlace {
  readonly run: string
  readonly revision: number
}

export interface RunStart {
  readonly run: string
  /** Of its first event. */
  readonly time: string
}

/** Runs in the order of their names. */
export interface RunStarts {
  readonly starts: readonly RunStart[]
  /** Where to go on; undefined where the walk is over. */
  readonly next?: string
}

/** So many events of a run: what they say, and the revision to go on behind, where there are more. */
export interface RunPart {
  readonly group?: RunGroup
  readonly next?: number
}

/** `next`: there are more rows from this revision on. */
export interface MissingWindow {
  readonly missing: readonly number[]
  readonly next?: number
}

export type SpendBy = 'run' | 'agent' | 'model' | 'day' | 'month' | 'tenant'

export interface SpendGroup {
  readonly key: string
  readonly tokens: number
  readonly costNano: bigint
  readonly currency?: string
}

/** Sums are stored of so many leaves each: those from `block * SUM_BLOCK_LEAVES` on. */
export const SUM_BLOCK_LEAVES = 4_096
/** Characters of a time that sums are kept apart by: `2026-01-31T23`, an hour. */
export const SUMMED_TIME_CHARS = 13

export type SummedBy = Exclude<SpendBy, 'run'>
export type SummedFilter = Pick<AuditFilter, 'agent' | 'provider' | 'model'>

export interface BlockPage extends KeyPage {
  readonly by: SummedBy
  /** Exclusive, then inclusive. */
  readonly blocks: { readonly after: number; readonly upTo: number }
  /** Inclusive, then exclusive. */
  readonly hours: { readonly from: string | undefined; readonly before: string | undefined }
  /** Blocks with charges in one of these hours are left out. */
  readonly except: readonly string[]
}

/** Sums of runs along so many events; the last group may go on in the next stretch. */
export interface SpendWindow {
  readonly groups: readonly SpendGroup[]
  readonly next?: RunPlace
}

export interface KeyGroup {
  readonly kid: string
  readonly events: number
  readonly firstTime: string
  readonly lastTime: string
}

export interface AuditIndex extends DerivedFile {
  /** Whether the rows are those that this ledger's processes wrote. Reads all of them where that is not known; of the index of words its head is covered. */
  isAuthentic(): Promise<boolean>
  /**
   * What the file system says of the file now, where all of it is known to be this ledger's: whoever reads the file beside its owner may believe
   * what it reads while the file system still says so. Undefined where that is not known, and of an index in memory.
   */
  knownState(): string | undefined
  /**
   * Notes beside the file what it holds now, where all of it is known to be this ledger's: who opens it next, or reads it beside this process, need not
   * read its rows to know. Costs nothing while nothing was written.
   */
  noteFile(): void
  /** Another connection of this process is about to open the file: until `opened`, what that changes about it is nobody else's writing. */
  opening(): void
  opened(): void
  progress(): AuditProgress | undefined
  /** Leaves of a tenant so far. */
  size(tenant: string): number
  isForeign(stream: string): boolean
  hasStream(stream: string): boolean
  chargeState(stream: string): string | undefined
  /** What the last claim of a call says: it may have been claimed again, by another agent. */
  claim(tenant: string, stream: string, call: string): { readonly agent?: string; readonly tool?: string } | undefined
  /** All of it and the new progress in one transaction; false, and nothing, where another writer was first: `from` is no longer the progress. */
  save(batch: AuditBatch, from: Position | undefined): boolean
  /** The whole log as it is, or its first `size` events; undefined where it has fewer, or none. */
  pin(tenant: string, size?: number): AuditPin | undefined
  row(tenant: string, leaf: number): AuditRow | undefined
  rowOf(tenant: string, eventId: string): AuditRow | undefined
  rows(view: AuditView, filter: AuditFilter, page: LeafPage): readonly AuditRow[]
  /** Claims that no outcome followed. */
  openCalls(view: AuditView, filter: AuditFilter, page: LeafPage): readonly AuditRow[]
  /** Reservations that neither a settle nor a release followed. */
  openReservations(view: AuditView, filter: AuditFilter, page: LeafPage): readonly AuditRow[]
  /** Failed or unknown compensations that no success and no resolution followed. */
  openCompensations(view: AuditView, filter: AuditFilter, page: LeafPage): readonly AuditRow[]
  /** So many runs by name, those that begin within the view; with `openOnly` fewer, those without an end. */
  runStarts(
    view: AuditView,
    walk: { readonly after: string; readonly runs: number; readonly openOnly: boolean },
  ): RunStarts
  runPart(view: AuditView, run: string, walk: { readonly after: number; readonly rows: number }): RunPart
  /** Revisions of a run that are not there, from one on, as far as so many rows tell: at most `limit` of them, and where to go on. */
  missingRevisions(
    view: AuditView,
    run: string,
    walk: { readonly from: number; readonly rows: number; readonly limit: number },
  ): MissingWindow
  /** Sums over one window; the sums of all windows make the answer. */
  spend(
    view: AuditView,
    filter: AuditFilter,
    page: KeyPage & { readonly window: LeafWindow } & { readonly by: SpendBy },
  ): readonly SpendGroup[]
  /** The same of whole blocks, from their stored sums. */
  spendOfBlocks(view: AuditView, filter: SummedFilter, page: BlockPage): readonly SpendGroup[]
  /** Whole blocks of the view with charges in one of these hours. */
  spendBlocksAt(view: AuditView, hours: readonly string[]): readonly number[]
  /** Sums by run, in the order of runs, of so many of their events. */
  spendOfRuns(
    view: AuditView,
    filter: AuditFilter,
    walk: { readonly after: RunPlace; readonly rows: number },
  ): SpendWindow
  keys(view: AuditView, filter: AuditFilter, page: KeyPage & { readonly window: LeafWindow }): readonly KeyGroup[]
}

/** What questions are answered from. */
export type ReadableIndex = Omit<
  AuditIndex,
  keyof DerivedFile | 'isAuthentic' | 'knownState' | 'noteFile' | 'opening' | 'opened' | 'save'
>
