/** @module The parts and settings from which a ledger is created. */
import type { RetentionClass } from '../../schemas/retention.ts'
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
  /** Keys of data subjects; if absent, no values can be kept encrypted. */
  readonly subjects?: SubjectStore | undefined
  /** For a ledger without them that only reads: the runs in which a key is used, so that legal holds on subjects are seen to cover these. */
  readonly subjectRuns?: ((keyId: string) => readonly string[]) | undefined
  /** List of erasures, kept apart from the store and its keys; if absent, no record of erasures exists outside of them. */
  readonly erasures?: ErasureList | undefined
  /** Classes of retention, whose terms hold up erasures; read at each of them. If absent, there are none. */
  readonly retention?: (() => readonly RetentionClass[]) | undefined
  readonly effects?: Effects
  readonly log?: Log
  /** If absent, progress of a slow start is not reported, and the start cannot be cancelled. */
  readonly starting?: StartWatch | undefined
  /** Prefix of the origin of every log, for the lifetime of the ledger; used only when the ledger is founded. */
  readonly origin?: string
  /** Settings of the Merkle logs; if absent, the ledger keeps none. */
  readonly logs?: LogSettings & { readonly store: LogStore }
  /** For a ledger without logs: the losses known to the logs of the ledger that writes the store. */
  readonly knownLost?: LossesOfTenant | undefined
  /** The audit index; if absent, the ledger answers no audit queries. */
  readonly audit?: {
    readonly index: AuditIndex
    /** Maximum wait of a query for an index that lags, in milliseconds; then it fails with `IndexBuildingError`. If absent, a query waits without limit. */
    readonly waitMs?: number | undefined
    /** Builds the index only after the first query, for ledgers that will most likely never be audited. */
    readonly onlyIfAsked?: boolean
    /** If absent, audit queries are answered in this thread. */
    readonly remote?: AnswerMaker | undefined
  }
  /** Set if another thread writes the files that follow the store; if absent, this thread writes them. */
  readonly indexing?: BeginIndexing | undefined
  /** The policy that the operator declared for the runs of a tenant; if absent, no tenant has one. Read at every start of a new run. */
  readonly tenantPolicy?: TenantPolicies
  /** The store belongs to another writer: commands are refused, no ledger is founded, and reads are not recorded. */
  readonly readOnly?: boolean
  /** The queue from which indexing takes its time slices, so that it yields to writers as readers do. If absent, indexing runs without pauses. */
  readonly work?: WorkQueue
  /** Memory for the caches of this ledger; if absent, a default budget of 1 GiB is divided among them. */
  readonly memory?: MemoryBudget
  /** Whether the process that holds a lease is provably gone; if absent, this is never assumed. */
  readonly isOwnerGone?: (owner: string) => boolean
  /** Which values of calls are stored separately from the events, and which are rejected as too large. */
  readonly values?: Partial<ValueLimits>
  /** Interval in days within which the scrub rereads the whole store at low priority; 0 or absent disables it. */
  readonly scrubDays?: number | undefined
  /** Limits the number of recent folded runs in the cache below what the memory allows. */
  readonly cachedRunsMax?: number
}
