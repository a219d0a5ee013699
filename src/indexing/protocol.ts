/** @module What the thread that writes the store and the one that writes the files that follow it say to each other. */
import type { IndexProgress } from '../ledger/audit/index-building.ts'
import type { SealFault } from '../ledger/identity/sealer.ts'
import type { LogIndexing } from '../ledger/indexing.ts'
import type { LogFact } from '../ledger/log/log-deps.ts'
import type { Log } from '../ledger/ports.ts'
import type { AppendResult, Position } from '../store/event-store.ts'
import type { FoldRow } from '../store/view-store.ts'

export const FILES = ['views', 'audit', 'logs'] as const

export type FileName = (typeof FILES)[number]

/** What the thread can be asked. `until`: where the store is, whose events it has to see up to there. */
export interface IndexingCalls {
  /** Whether faults came in, or may have come in before this thread began. */
  readonly listRuns: (until: Position) => boolean
  readonly index: (until: Position) => void
  readonly followLogs: (until: Position) => void
  /** How many it signed. */
  readonly signLogs: (until: Position) => number
  readonly restoreHeads: (until: Position) => void
  readonly streamPath: LogIndexing['streamPath']
  /** For whoever reads the index in another thread: whether it is the ledger's, and that a connection is about to open it, or has. */
  readonly vouch: (damage: string | undefined) => string | undefined
  readonly opening: () => void
  readonly opened: () => void
  /** Told, as all that follows. */
  readonly saveFold: (row: FoldRow) => void
  readonly saveNote: (name: string, text: string) => void
  /** Somebody who read the file found it damaged. */
  readonly renew: (file: FileName, reason: string) => void
  /** New keys are on record. */
  readonly keysChanged: () => void
}

/** Tasks that bring a file up to the store. */
export type Following = 'listRuns' | 'index' | 'followLogs' | 'signLogs' | 'restoreHeads'

/** What it asks of the thread that writes the store. */
export interface IndexingHostCalls {
  /** Answered when the files are its own to open: nobody else writes them any more. */
  readonly takeFiles: () => void
  /** A fact to be sealed and appended. */
  readonly append: (fact: LogFact) => AppendResult
  /** Told, as all that follows: the file was rebuilt. */
  readonly renewed: (file: FileName, reason: string) => void
  readonly state: (state: IndexingState) => void
  readonly log: (level: keyof Log, fields: object, message: string) => void
  readonly fault: (fault: SealFault) => void
}

export interface IndexingState {
  readonly heapBytes: number
  /** Files that are being made from far behind. */
  readonly building: Partial<Record<FileName, IndexProgress>>
  /** Of the index's pass that runs, or ran last. */
  readonly indexing: IndexProgress
}
