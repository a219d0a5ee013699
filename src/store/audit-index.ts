/**
 * @module The port of the auditors' index: one row per event, in the order of its tenant's log, in one local file. Rows never change, so a query as of a
 * given log size always gets the same answer. The file can be lost without loss of data: it is rebuilt.
 */
import type { AuditRow } from '../../schemas/audit-fields.ts'
import type { EventQuery } from '../../schemas/event-query.ts'
import type { Mark } from '../../schemas/marks.ts'
import type { DerivedFile } from './derived-file.ts'
import type { Position } from './event-store.ts'

/** What an event adds to the spend. Money in units of 1e-9, signed. */
export interface ChargeRow {
  readonly agent: string
  readonly tokens: number
  readonly costNano: bigint
  readonly currency?: string
  readonly provider?: string
  readonly model?: string
  /** Whether it is charged for an expired reservation, or takes such a charge back; otherwise the usage was reported. */
  readonly estimated?: true
}

export interface AuditEntry {
  readonly row: AuditRow
  readonly charges: readonly ChargeRow[]
  /** Text to index for full-text search; empty if there is none. */
  readonly text: string
}

export interface AuditBatch {
  readonly entries: readonly AuditEntry[]
  /** State of each stream's charges, as JSON, by stream. */
  readonly states: ReadonlyMap<string, string>
  /** Streams that do not belong to the ledger: no rows are made for them. */
  readonly foreign: readonly string[]
  readonly progress: AuditProgress
  /** Whether the batch is one of a long series: the word index then merges its segments later. Default: false. */
  readonly isBulk?: boolean
}

/** The last record that was read. A different record at this position means another store, or an older copy of this one. */
export interface AuditProgress {
  readonly position: Position
  /** Digest of the record's header text. */
  readonly digest: string
}

/** The first `size` events of a tenant's log. */
export interface AuditPin {
  readonly size: number
  /** Position of the last of these events. */
  readonly position: Position
  readonly eventId: string
}

/** Scope of a read: one tenant, and the log at one size. */
export interface AuditView {
  readonly tenant: string
  readonly size: number
}

export interface AuditFilter extends Omit<EventQuery, 'text'> {
  /** Phrases to search for, each a list of consecutive words. */
  readonly phrases?: readonly (readonly string[])[]
  readonly reservation?: string
  /** Only events whose writer had a clock that was behind. */
  readonly clocked?: boolean
  /** Only accepted handoffs with this mark. */
  readonly mark?: Mark
}

export interface LeafPage {
  /** Exclusive; undefined starts at the beginning of the order. */
  readonly after: number | undefined
  /** Inclusive: rows after this leaf are not examined. */
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
  /** The last event that ends the run; absent while the run is open. */
  readonly end?: { readonly leaf: number; readonly type: string }
}

/** A range of the log that one statement examines: leaves after `after` up to `upTo`. */
export interface LeafWindow {
  readonly after: number
  readonly upTo: number
}

/** Position of a scan over all runs: ordered by run, then by revision. */
export interface RunPlace {
  readonly run: string
  readonly revision: number
}

export interface RunStart {
  readonly run: string
  /** Time of the run's first event. */
  readonly time: string
}

/** Runs in the order of their names. */
export interface RunStarts {
  readonly starts: readonly RunStart[]
  /** Where to continue; undefined at the end of the scan. */
  readonly next?: string
}

/** A summary of a bounded number of events of a run, and the revision after which to continue if there are more. */
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
  /** The part of `tokens` and `costNano` that is estimated. */
  readonly estimatedTokens: number
  readonly estimatedNano: bigint
  readonly currency?: string
}

/** Leaves per stored sum: a block begins at leaf `block * SUM_BLOCK_LEAVES`. */
export const SUM_BLOCK_LEAVES = 4_096
/** Length of the time prefix by which sums are kept apart, in characters: `2026-01-31T23`, one hour. */
export const SUMMED_TIME_CHARS = 13

export type SummedBy = Exclude<SpendBy, 'run'>
export type SummedFilter = Pick<AuditFilter, 'agent' | 'provider' | 'model'>

export interface BlockPage extends KeyPage {
  readonly by: SummedBy
  /** `after` is exclusive, `upTo` inclusive. */
  readonly blocks: { readonly after: number; readonly upTo: number }
  /** `from` is inclusive, `before` exclusive. */
  readonly hours: { readonly from: string | undefined; readonly before: string | undefined }
  /** Blocks with charges in one of these hours are left out. */
  readonly except: readonly string[]
}

/** Sums by run over a bounded number of events; the last group may continue in the next window. */
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
  /** Whether the rows were written by processes of this ledger. Reads all rows if that is not known yet; of the word index only the head is covered. */
  isAuthentic(): Promise<boolean>
  /**
   * The file system's state of the file (as `stat` reports it) if all its content is known to be this ledger's: a reader other than the file's owner may
   * trust the content as long as that state is unchanged. Undefined if the content is not known to be authentic, and for an index in memory.
   */
  knownState(): string | undefined
  /**
   * Writes a note next to the file about its current content if all of it is known to be this ledger's, so that the next process that opens or reads the
   * file can trust it without reading its rows. Costs nothing if nothing was written since.
   */
  noteFile(): void
  /** Announces that another connection of this process is about to open the file: changes to the file until `opened` are not taken for another writer's. */
  opening(): void
  opened(): void
  progress(): AuditProgress | undefined
  /** Number of leaves of a tenant so far. */
  size(tenant: string): number
  isForeign(stream: string): boolean
  hasStream(stream: string): boolean
  chargeState(stream: string): string | undefined
  /** Agent and tool of the last claim of a call; the call may have been claimed again, by another agent. */
  claim(tenant: string, stream: string, call: string): { readonly agent?: string; readonly tool?: string } | undefined
  /**
   * Saves the batch and the new progress in one transaction; saves nothing and returns false if another writer was first, that is, `from` is no longer the
   * progress.
   */
  save(batch: AuditBatch, from: Position | undefined): boolean
  /** The whole log as it is now, or its first `size` events; undefined if it has fewer, or none. */
  pin(tenant: string, size?: number): AuditPin | undefined
  row(tenant: string, leaf: number): AuditRow | undefined
  rowOf(tenant: string, eventId: string): AuditRow | undefined
  rows(view: AuditView, filter: AuditFilter, page: LeafPage): readonly AuditRow[]
  /** Claims without a subsequent outcome. */
  openCalls(view: AuditView, filter: AuditFilter, page: LeafPage): readonly AuditRow[]
  /** Reservations without a subsequent settle or release. */
  openReservations(view: AuditView, filter: AuditFilter, page: LeafPage): readonly AuditRow[]
  /** Failed or unknown compensations without a subsequent success or resolution. */
  openCompensations(view: AuditView, filter: AuditFilter, page: LeafPage): readonly AuditRow[]
  /** The next `runs` runs by name that begin within the view; with `openOnly`, only those of them that have no end. */
  runStarts(
    view: AuditView,
    walk: { readonly after: string; readonly runs: number; readonly openOnly: boolean },
  ): RunStarts
  runPart(view: AuditView, run: string, walk: { readonly after: number; readonly rows: number }): RunPart
  /** Missing revisions of a run, from `from` on, found within `rows` rows: at most `limit` of them, and where to continue. */
  missingRevisions(
    view: AuditView,
    run: string,
    walk: { readonly from: number; readonly rows: number; readonly limit: number },
  ): MissingWindow
  /** Sums over one window; the caller adds up the sums of all windows. */
  spend(
    view: AuditView,
    filter: AuditFilter,
    page: KeyPage & { readonly window: LeafWindow } & { readonly by: SpendBy },
  ): readonly SpendGroup[]
  /** Like `spend`, for whole blocks, from their stored sums. */
  spendOfBlocks(view: AuditView, filter: SummedFilter, page: BlockPage): readonly SpendGroup[]
  /** Whole blocks of the view with charges in one of these hours. */
  spendBlocksAt(view: AuditView, hours: readonly string[]): readonly number[]
  /** Sums by run, in the order of runs, over the next `rows` events. */
  spendOfRuns(
    view: AuditView,
    filter: AuditFilter,
    walk: { readonly after: RunPlace; readonly rows: number },
  ): SpendWindow
  keys(view: AuditView, filter: AuditFilter, page: KeyPage & { readonly window: LeafWindow }): readonly KeyGroup[]
}

/** The part of the index that queries are answered from. */
export type ReadableIndex = Omit<
  AuditIndex,
  keyof DerivedFile | 'isAuthentic' | 'knownState' | 'noteFile' | 'opening' | 'opened' | 'save'
>
