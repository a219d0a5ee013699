/** @module What the thread that writes the store and the one that writes the files that follow it say to each other. */
import type { IndexProgress } from '../ledger/audit/index-building.ts'
import type { SealFault } from '../ledger/identity/sealer.ts'
import type { LogFact } from '../ledger/log/log-deps.ts'
import type { Log } from '../ledger/ports.ts'
import type { StreamPath } from '../merkle/stream-tree.ts'
import type { AppendResult, Position } from '../store/event-store.ts'
import type { FoldRow } from '../store/view-store.ts'

export const FILES = ['views', 'audit', 'logs'] as const

export type FileName = (typeof FILES)[number]

/** What takes its time, and is answered `done` or `failed`. `until`: where the store is, whose events it has to see up to there. */
export type UpkeepTask =
  | { readonly what: 'list-runs' | 'index' | 'follow-logs' | 'sign-logs' | 'restore-heads'; readonly until: Position }
  | {
      readonly what: 'stream-path'
      readonly tenant: string
      readonly stream: string
      readonly size: number
      readonly root: Uint8Array
    }
  /** For whoever reads the index in another thread: whether it is the ledger's, and that a connection is about to open it, or has. */
  | { readonly what: 'vouch'; readonly damage?: string }
  | { readonly what: 'opening' | 'opened' }

export type ToUpkeep =
  /** The files are the thread's from here on: it opens them. */
  | { readonly kind: 'take' }
  | { readonly kind: 'task'; readonly id: number; readonly task: UpkeepTask }
  /** Nobody waits for it any more: it stops where it is. */
  | { readonly kind: 'abort'; readonly id: number }
  /** What became of a fact; undefined where it could not be handed to the store. */
  | { readonly kind: 'appended'; readonly id: number; readonly result: AppendResult | undefined }
  | { readonly kind: 'save-fold'; readonly row: FoldRow }
  | { readonly kind: 'save-note'; readonly name: string; readonly text: string }
  /** Somebody who read the file found it damaged. */
  | { readonly kind: 'renew'; readonly file: FileName; readonly reason: string }
  /** New keys are on record. */
  | { readonly kind: 'keys-changed' }
  | { readonly kind: 'end' }

export interface TaskDone {
  /** Of the run list: faults came in, or may have come in before this thread began. */
  readonly hasFaults?: boolean
  /** Logs that were signed. */
  readonly signed?: number
  readonly path?: StreamPath | undefined
  /** Of the index, where it is vouched for. */
  readonly state?: string | undefined
}

/** Why a task came to nothing. */
export type UpkeepFailure =
  | { readonly kind: 'unavailable'; readonly message: string; readonly retryAfterMs: number }
  /** The file of this view takes no writes, or not what an event says. */
  | {
      readonly kind: 'behind'
      readonly view: 'the run list' | "the auditors' index"
      readonly isOfRows: boolean
      readonly message: string
    }
  | { readonly kind: 'other'; readonly message: string }

export interface UpkeepState {
  readonly heapBytes: number
  /** Files that are being made from far behind. */
  readonly building: Partial<Record<FileName, IndexProgress>>
  /** Of the index's pass that runs, or ran last. */
  readonly indexing: IndexProgress
}

export type FromUpkeep =
  /** It could begin: it has opened none of the files yet. */
  | { readonly kind: 'ready' }
  | { readonly kind: 'open-failed'; readonly message: string }
  | { readonly kind: 'done'; readonly id: number; readonly done: TaskDone }
  | { readonly kind: 'failed'; readonly id: number; readonly failure: UpkeepFailure }
  /** To be sealed and appended by whoever writes the store. */
  | { readonly kind: 'append'; readonly id: number; readonly fact: LogFact }
  /** The file was rebuilt. */
  | { readonly kind: 'renewed'; readonly file: FileName; readonly reason: string }
  | { readonly kind: 'state'; readonly state: UpkeepState }
  | { readonly kind: 'log'; readonly level: keyof Log; readonly fields: object; readonly message: string }
  | { readonly kind: 'fault'; readonly fault: SealFault }
