/** @module What a ledger is made of. */
import type { MemoryBudget } from '../resources/memory-budget.ts'
import type { WorkQueue } from '../resources/work-queue.ts'
import type { AuditIndex } from '../store/audit-index.ts'
import type { EventStore } from '../store/event-store.ts'
import type { LogStore } from '../store/log-store.ts'
import type { SubjectStore } from '../store/subject-store.ts'
import type { ViewStore } from '../store/view-store.ts'
import type { AnswerMaker } from './audit/audit-service.ts'
import type { BeginIndexing } from './indexing.ts'
import type { StartWatch } from './log/log-deps.ts'
import type { LogSettings } from './log/log-settings.ts'
import type { LossesOfTenant } from './log/tenant-logs.ts'
import type { Effects, KeySource, Log, TenantPolicies } from './ports.ts'
import type { ErasureList } from './subjects/erasure-list.ts'
import type { ValueLimits } from './values/value-limits.ts'

export interface LedgerOptions {
  readonly store: EventStore
  readonly views: ViewStore
  readonly keys: KeySource
  /** Keys of subjects; absent: nothing can be kept encrypted here. */
  readonly subjects?: SubjectStore | undefined
  /** What was erased, beside store and keys; absent: nothing is kept of it outside of them. */
  readonly erasures?: ErasureList | undefined
  readonly effects?: Effects
  readonly log?: Log
  /** Absent: nobody is told what a start waits for, and it cannot be given up. */
  readonly starting?: StartWatch | undefined
  /** Prefix of every log's origin, for life; used only where the ledger is founded now. */
  readonly origin?: string
  /** What the Merkle logs need; absent: the ledger keeps none. */
  readonly logs?: LogSettings & { readonly store: LogStore }
  /** Of a ledger that keeps no logs: what those of the ledger that writes the store know to be lost. */
  readonly knownLost?: LossesOfTenant | undefined
  /** The auditors' index; absent: the ledger answers no audit queries. */
  readonly audit?: {
    readonly index: AuditIndex
    /** How long a question waits for an index that lags; then `IndexBuildingError`. Absent: until it is there. */
    readonly waitMs?: number | undefined
    /** Do not make the index before somebody has asked: for ledgers that most likely nobody audits. */
    readonly onlyIfAsked?: boolean
    /** Absent: questions are answered in this thread. */
    readonly remote?: AnswerMaker | undefined
  }
  /** Another thread writes the files that follow the store; absent: this one does. */
  readonly indexing?: BeginIndexing | undefined
  /** What the operator declared for a tenant's runs; absent: nothing for any. Read at each start of a new run. */
  readonly tenantPolicy?: TenantPolicies
  /** The store is another's to write: commands are refused, nothing is founded, reads go on no record. */
  readonly readOnly?: boolean
  /** Whose slices indexing takes: what follows the store gives way to writers, as readers do. Absent: it works on. */
  readonly work?: WorkQueue
  /** What this ledger's caches may take; 1 GiB is divided where it is absent. */
  readonly memory?: MemoryBudget
  /** Whether the process that holds a lease is provably gone; absent: nobody's death can be proved here. */
  readonly isOwnerGone?: (owner: string) => boolean
  /** Which values of calls are stored beside the events, and which are too large to be taken. */
  readonly values?: Partial<ValueLimits>
  /** The whole store is read again, behind everything else, within so many days; 0 or absent: it is not. */
  readonly scrubDays?: number | undefined
  /** Fewer recent runs kept folded than the memory allows. */
  readonly cachedRunsMax?: number
}
