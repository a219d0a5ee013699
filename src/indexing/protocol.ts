/** @module Messages between the thread that writes the store and the thread that writes the derived files. */
import type { IndexProgress } from '../ledger/audit/index-building.ts'
import type { SealFault } from '../ledger/identity/sealer.ts'
import type { LogIndexing } from '../ledger/indexing.ts'
import type { LogFact } from '../ledger/log/log-deps.ts'
import type { Log } from '../ledger/ports.ts'
import type { AppendResult, Position } from '../store/event-store.ts'
import type { FoldRow } from '../store/view-store.ts'

export const FILES = ['views', 'audit', 'logs'] as const

export type FileName = (typeof FILES)[number]

/** Calls to the thread. `until`: end of the store; the task processes all events up to it. */
export interface IndexingCalls {
  /** Whether faults were found, or may have been found before this thread began. */
  readonly listRuns: (until: Position) => boolean
  readonly index: (until: Position) => void
  readonly followLogs: (until: Position) => void
  /** Number of checkpoints that were signed. */
  readonly signLogs: (until: Position) => number
  readonly restoreHeads: (until: Position) => void
  readonly streamPath: LogIndexing['streamPath']
  /**
   * For readers of the index on other threads: checks that the index belongs to this ledger, and announces that a connection is about to open it, or has
   * opened it.
   */
  readonly vouch: (damage: string | undefined) => string | undefined
  readonly opening: () => void
  readonly opened: () => void
  /** A notification without an answer, like all members below. */
  readonly saveFold: (row: FoldRow) => void
  readonly saveNote: (name: string, text: string) => void
  /** A reader found the file damaged. */
  readonly renew: (file: FileName, reason: string) => void
  /** New keys were recorded. */
  readonly keysChanged: () => void
}

/** Tasks that bring a file up to the store. */
export type Following = 'listRuns' | 'index' | 'followLogs' | 'signLogs' | 'restoreHeads'

/** Calls from the thread to the one that writes the store. */
export interface IndexingHostCalls {
  /** Answered when the thread may open the files: no other thread writes them any more. */
  readonly takeFiles: () => void
  /** Seals and appends a fact. */
  readonly append: (fact: LogFact) => AppendResult
  /** A notification without an answer, like all members below: the file was rebuilt. */
  readonly renewed: (file: FileName, reason: string) => void
  readonly state: (state: IndexingState) => void
  readonly log: (level: keyof Log, fields: object, message: string) => void
  readonly fault: (fault: SealFault) => void
}

export interface IndexingState {
  readonly heapBytes: number
  /** Files that are being built from far behind the end of the store. */
  readonly building: Partial<Record<FileName, IndexProgress>>
  /** Progress of the current or last indexing pass. */
  readonly indexing: IndexProgress
}
