/**
 * @module What auditors ask, as HTTP, the command line, exports and the dashboard see it: named queries over one tenant's events, each as
 * of a size of its log. The table of the queries is `audit-queries.ts`.
 */
import type { EventQuery } from '../../../schemas/event-query.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import type { AccessRead } from '../../access/audit-trail.ts'
import type { Caller } from '../../access/caller.ts'
import type { Position } from '../../store/event-store.ts'
import type { RunFilter } from '../../store/view-store.ts'
import type { LedgerEvent } from '../ledger-event.ts'
import type { UnreadableRun } from '../read/unreadable.ts'
import type { AuditQueryName } from './audit-queries.ts'

/** The first `treeSize` events of the tenant's log: whatever is asked as of them is answered the same for ever. */
export interface AsOf {
  readonly treeSize: number
  /** Of the last of them in the store; null in an empty log. */
  readonly position: Position | null
  /** Id of the last of them. */
  readonly eventId: string | null
}

export interface AuditQuestion {
  readonly name: AuditQueryName
  /** Members that the query does not take are refused, as a filter that is silently passed over would lie. */
  readonly filter: EventQuery
  /** Of `spend` alone: what is summed by. */
  readonly by?: string
  /** Of `sample` alone. */
  readonly seed?: string
  /**
   * The one answer about all there is, for who shows no further page. `spend`: the `limit` largest groups of each currency, or the newest of days and months,
   * and under `rest` what the others come to. `open-reservations`: sums by agent, run and currency of what is open.
   */
  readonly whole?: true
}

export interface AuditPageRequest {
  /** Where the page before ended. */
  readonly after?: readonly Json[]
  readonly limit: number
  /** The log as it was with so many events; absent: as it is. */
  readonly treeSize?: number
  /** Id of the last of them, where a cursor carries it: another event there is another log. */
  readonly eventId?: string
  readonly newestFirst?: boolean
}

/** A question that its query takes, of a log that was that large: whoever answers it asks nobody's leave any more. */
export interface PlannedQuestion {
  readonly tenant: string
  readonly question: AuditQuestion
  readonly asOf: AsOf
  /** Where the page before ended. */
  readonly after?: readonly Json[] | undefined
  readonly limit: number
  readonly newestFirst: boolean
}

export interface AuditPage {
  readonly ok: true
  readonly items: readonly JsonObject[]
  /** Of them. */
  readonly count: number
  /** The same as a JSON array: an answer that another thread made is passed on as it is. */
  readonly itemsText: () => string
  /** `after` of the next page; absent on the last one. */
  readonly next?: readonly Json[]
  readonly asOf: AsOf
  /**
   * `sealed-index`: rows that lie under a mac of the key ring, checked whole when the process first uses them and whenever somebody else
   * wrote to their file; every event that is shown was read from the store, its seal checked. `word-index`: which events are found rests
   * on an index of words that no seal covers; what is shown of them is as above.
   */
  readonly restsOn: 'sealed-index' | 'word-index'
  /** Groups there are, on all pages, where that is counted. */
  readonly total?: number
  /** Of a `whole` answer, by currency: how many groups it does not list, and their sums. Empty: it lists all. */
  readonly rest?: readonly JsonObject[]
}

export interface AuditRefusal {
  readonly ok: false
  readonly code: 'invalid-query' | 'cursor-gone' | 'run-mismatch' | 'agent-mismatch'
  readonly detail: string
}

/** `overdue`: only runs with an open call whose lease was over. */
export type RunsFilter = Omit<RunFilter, 'tenant' | 'leaseOverAt' | 'after' | 'limit'> & { readonly overdue?: true }

export interface RunsAsOfRequest {
  /** Leaf of the start of the last run that was looked at. */
  readonly after?: number | undefined
  readonly limit: number
  /** 1 or more. */
  readonly treeSize: number
  /** See `AuditPageRequest`. */
  readonly eventId?: string | undefined
}

export interface RunsAsOf {
  readonly ok: true
  readonly items: readonly JsonObject[]
  /** `after` of the next page; absent on the last one. A page may be short, or empty, and have one. */
  readonly next?: number
  readonly asOf: AsOf
}

export interface ApprovalsAsOfRequest extends Omit<RunsAsOfRequest, 'after'> {
  /** Leaf of the last request that was looked at. */
  readonly after?: number | undefined
}

export interface ApprovalsAsOf extends RunsAsOf {
  /** Runs of this page that cannot be looked into. */
  readonly unreadable?: readonly UnreadableRun[]
}

/** A log at a moment. */
export interface LogMoment {
  readonly ok: true
  readonly asOf: AsOf
  /** Of its last event then: RFC 3339, UTC. */
  readonly time: string
}

/** A run at a moment of the log. */
export interface RunMoment extends LogMoment {
  /** Of the run's last event then. */
  readonly revision: number
}

export type RunMomentRefusal = AuditRefusal | (Omit<AuditRefusal, 'code'> & { readonly code: 'run-not-found' })

export interface AuditReads {
  /** The log as it is now: what pages and exports are pinned to. */
  asOf(caller: Caller): Promise<AsOf>
  ask(caller: Caller, question: AuditQuestion, page: AuditPageRequest): Promise<AuditPage | AuditRefusal>
  /** The same question, checked against what its query takes and pinned, and not answered yet: for a file of all its pages. */
  plan(caller: Caller, question: AuditQuestion, page: AuditPageRequest): Promise<PlannedQuestion | AuditRefusal>
  /** A page of a question that was planned. Whoever gives it to somebody puts that on record first, with `recordPage`. */
  page(caller: Caller, planned: PlannedQuestion): Promise<AuditPage>
  /** Puts a page of so many rows on record. Throws as `record` does. */
  recordPage(caller: Caller, planned: PlannedQuestion, rows: number): Promise<void>
  /**
   * Puts a read that did not go through this interface on record, durably: a page, an export, a tail, a replay. What does go through it is
   * recorded by itself. Throws `StoreUnavailableError` where the store takes no writes: then nothing may be answered.
   */
  record(caller: Caller, read: AccessRead): Promise<void>
  /** Counts a read of a run's bodies by a scope of its own: it is on record within a minute. `run` is empty where it was about several. */
  notePayloads(caller: Caller, run: string): void
  /** The run list as it was with so many events in the tenant's log. Like the list of now, it is on record where a route says so. */
  runs(caller: Caller, filter: RunsFilter, page: RunsAsOfRequest): Promise<RunsAsOf | AuditRefusal>
  /** What somebody in the tenant could still decide with so many events in its log, the newest request first. On record as `runs` is. */
  approvals(caller: Caller, page: ApprovalsAsOfRequest): Promise<ApprovalsAsOf | AuditRefusal>
  /**
   * Where a run stood at a moment of the tenant's log: with so many events (1 or more), or at a time (RFC 3339, UTC, with milliseconds).
   * Refuses callers who do not see the whole tenant: the size of a log is nobody else's to learn.
   */
  runMoment(
    caller: Caller,
    runId: string,
    at: { readonly treeSize: number } | { readonly time: string },
  ): Promise<RunMoment | RunMomentRefusal>
  /** An event of the tenant by its id. */
  event(caller: Caller, eventId: string): Promise<MatchedEvent | undefined>
  /** Why `matching` would not take this query; undefined where it does. */
  matchingRefusal(caller: Caller, filter: EventQuery, range: { readonly asOf: AsOf }): Promise<AuditRefusal | undefined>
  /**
   * Whole events that answer a query, in the order of the log, up to `asOf`: what an export is made of. It ends early with
   * `DamagedIndexError` where the store no longer holds an event of the index, and throws `RangeError` for a query it does not take.
   */
  matching(
    caller: Caller,
    filter: EventQuery,
    range: { readonly asOf: AsOf; readonly afterLeaf?: number },
  ): AsyncIterable<readonly MatchedEvent[]>
}

export type MatchedEvent = LedgerEvent & { readonly leaf: number }

/** The store does not hold an event that the index says it had: it was restored or cut. */
export class DamagedIndexError extends Error {
  readonly code = 'index-damaged'

  readonly stream: string
  readonly revision: number

  constructor(stream: string, revision: number) {
    super(
      `${stream} @ ${revision} is in the index and not in the store: run "countersign verify", then "countersign rebuild"`,
    )
    this.name = 'DamagedIndexError'
    this.stream = stream
    this.revision = revision
  }
}
