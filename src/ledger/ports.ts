/** @module What the ledger is handed: a store, keys, and the effects of the world as values. */

import type { MemoryBudget } from '../resources/memory-budget.ts'
import type { WorkQueue } from '../resources/work-queue.ts'
import type { LedgerKeys } from '../signing/ledger-keys.ts'
import type { AuditIndex } from '../store/audit-index.ts'
import type { EventStore } from '../store/event-store.ts'
import type { LogStore } from '../store/log-store.ts'
import type { ViewStore } from '../store/view-store.ts'
import type { LogSettings } from './log/log-settings.ts'

/** The keys as they are now; a rotation changes them while the ledger runs. */
export interface KeySource {
  readonly current: () => LedgerKeys
  /** Calls back after a change; returns the unsubscriber. */
  readonly onChange: (listener: (keys: LedgerKeys) => void) => () => void
}

export interface Effects {
  /** The wall clock, milliseconds since the epoch: it may be set, forward and back. */
  readonly nowMs: () => number
  /** Milliseconds since some moment: never set, never back. */
  readonly monotonicMs: () => number
  /** A new UUIDv7 at each call. */
  readonly newId: () => string
  /** 16 random bytes. */
  readonly newSalt: () => Uint8Array
  /** 0 up to 1: jitter of retries. */
  readonly random: () => number
  readonly sleep: (ms: number) => Promise<void>
}

/** The little of a logger that the ledger needs; pino fits. */
export interface Log {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

export interface LedgerOptions {
  readonly store: EventStore
  readonly views: ViewStore
  readonly keys: KeySource
  readonly effects?: Effects
  readonly log?: Log
  /** Prefix of every log's origin, for life; used only where the ledger is founded now. */
  readonly origin?: string
  /** What the Merkle logs need; absent: the ledger keeps none. */
  readonly logs?: LogSettings & { readonly store: LogStore }
  /** The auditors' index; absent: the ledger answers no audit queries. */
  readonly audit?: {
    readonly index: AuditIndex
    /** Do not make the index before somebody has asked: for ledgers that most likely nobody audits. */
    readonly onlyIfAsked?: boolean
  }
  /** The store is another's to write: commands are refused, nothing is founded, reads go on no record. */
  readonly readOnly?: boolean
  /** Whose slices upkeep takes: what follows the store gives way to writers, as readers do. Absent: it works on. */
  readonly work?: WorkQueue
  /** What this ledger's caches may take; 1 GiB is divided where it is absent. */
  readonly memory?: MemoryBudget
  /** Fewer recent runs kept folded than the memory allows. */
  readonly hotRunsMax?: number
}
