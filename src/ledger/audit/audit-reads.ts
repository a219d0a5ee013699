/**
 * @module The audit queries as HTTP, the command line, exports and the dashboard see them: named queries over the events of one tenant, each as of a
 * size of its log. The table of queries is in `audit-queries.ts`.
 */
import type { ReviewAnswer } from '../../../schemas/answers/reviews.ts'
import type { EventQuery } from '../../../schemas/event-query.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import type { SignReview } from '../../../schemas/review.ts'
import type { AccessRead } from '../../access/audit-trail.ts'
import type { Caller } from '../../access/caller.ts'
import type { Position } from '../../store/event-store.ts'
import type { RunFilter } from '../../store/view-store.ts'
import type { LedgerEvent } from '../ledger-event.ts'
import type { UnreadableRun } from '../read/unreadable.ts'
import type { AuditQueryName } from './audit-queries.ts'

/** The first `treeSize` events of the tenant's log. A query as of them always has the same answer. */
export interface AsOf {
  readonly treeSize: number
  /** Position of the last of them in the store; null in an empty log. */
  readonly position: Position | null
  /** Id of the last of them. */
  readonly eventId: string | null
}

export interface AuditQuestion {
  readonly name: AuditQueryName
  /** Members that the query does not support are refused: silently ignoring a filter would give a wrong answer. */
  readonly filter: EventQuery
  /** For `spend` only: the dimension to sum by. */
  readonly by?: string
  /** For `sample` only. */
  readonly seed?: string
  /**
   * Requests one answer about everything, for callers that show no further page. `spend`: the `limit` largest groups of each currency (for days and
   * months the newest), and under `rest` the sums of the others. `open-reservations`: sums of the open ones by agent, run and currency.
   */
  readonly whole?: true
}

export interface AuditPageRequest {
  /** `next` of the previous page. */
  readonly after?: readonly Json[]
  readonly limit: number
  /** The log as it was with this number of events; absent: as it is now. */
  readonly treeSize?: number
  /** Id of the last of these events, if a cursor carries it. A different event in that place means a different log. */
  readonly eventId?: string
  readonly newestFirst?: boolean
}

/** A validated query as of a size of a log. No further access checks are made when it is answered. */
export interface PlannedQuestion {
  readonly tenant: string
  readonly question: AuditQuestion
  readonly asOf: AsOf
  /** `next` of the previous page. */
  readonly after?: readonly Json[] | undefined
  readonly limit: number
  readonly newestFirst: boolean
}

export interface AuditPage {
  readonly ok: true
  readonly items: readonly JsonObject[]
  /** Number of items. */
  readonly count: number
  /** The items as a JSON array; an answer made on another thread is passed on without parsing it. */
  readonly itemsText: () => string
  /** `after` of the next page; absent on the last one. */
  readonly next?: readonly Json[]
  readonly asOf: AsOf
  /**
   * `sealed-index`: the rows are covered by a MAC of the key ring, which is checked in full when the process first uses the index and whenever
   * another process wrote to its file; every event shown was read from the store with its seal checked. `word-index`: which events are found depends
   * on a word index that no seal covers; the events themselves are shown as above.
   */
  readonly restsOn: 'sealed-index' | 'word-index'
  /** Total number of groups on all pages, if it is counted. */
  readonly total?: number
  /** For a `whole` answer, by currency: number and sums of the groups that it does not list. Empty if it lists all. */
  readonly rest?: readonly JsonObject[]
}

export interface AuditRefusal {
  readonly ok: false
  readonly code: 'invalid-query' | 'cursor-gone' | 'run-mismatch' | 'agent-mismatch'
  readonly detail: string
}

/** `overdue`: only runs with an open call whose lease had expired. */
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
  /** `after` of the next page; absent on the last one. A page may be short or empty and still have a next one. */
  readonly next?: number
  readonly asOf: AsOf
}

export interface ApprovalsAsOfRequest extends Omit<RunsAsOfRequest, 'after'> {
  /** Leaf of the last request that was looked at. */
  readonly after?: number | undefined
}

export interface ApprovalsAsOf extends RunsAsOf {
  /** Runs of this page that cannot be read. */
  readonly unreadable?: readonly UnreadableRun[]
}

/** A log as of a point in its past. */
export interface LogMoment {
  readonly ok: true
  readonly asOf: AsOf
  /** Time of its last event at that point: RFC 3339, UTC. */
  readonly time: string
}

/** A run as of a point in the past of the log. */
export interface RunMoment extends LogMoment {
  /** Revision of the last event of the run at that point. */
  readonly revision: number
}

export type RunMomentRefusal = AuditRefusal | (Omit<AuditRefusal, 'code'> & { readonly code: 'run-not-found' })

export interface AuditReads {
  /** The current size of the log, to which pages and exports are pinned. */
  asOf(caller: Caller): Promise<AsOf>
  ask(caller: Caller, question: AuditQuestion, page: AuditPageRequest): Promise<AuditPage | AuditRefusal>
  /** Validates and pins a query without answering it, for a file of all its pages. */
  plan(caller: Caller, question: AuditQuestion, page: AuditPageRequest): Promise<PlannedQuestion | AuditRefusal>
  /** A page of a planned query. The caller has to record it with `recordPage` before handing it out. */
  page(caller: Caller, planned: PlannedQuestion): Promise<AuditPage>
  /** Records a page with its number of rows. Throws as `record` does. */
  recordPage(caller: Caller, planned: PlannedQuestion, rows: number): Promise<void>
  /**
   * Durably records a read that did not use this interface: a page, an export, a tail, a replay. Reads through this interface are recorded
   * automatically. Throws `StoreUnavailableError` if the store accepts no writes; the read must not be answered then.
   */
  record(caller: Caller, read: AccessRead): Promise<void>
  /** Counts a read of a run's bodies with a payload scope; it is recorded within a minute. `run` is empty if the read covered several runs. */
  notePayloads(caller: Caller, run: string): void
  /** The run list as it was with this number of events in the tenant's log. Like the current list, it is recorded only by routes that do so. */
  runs(caller: Caller, filter: RunsFilter, page: RunsAsOfRequest): Promise<RunsAsOf | AuditRefusal>
  /** The approvals that could still be decided with this number of events in the tenant's log, newest request first. Recorded in the same way as `runs`. */
  approvals(caller: Caller, page: ApprovalsAsOfRequest): Promise<ApprovalsAsOf | AuditRefusal>
  /**
   * The state of a run at a point of the tenant's log: with a number of events (1 or more), or at a time (RFC 3339, UTC, with milliseconds). Refused
   * for callers without access to the whole tenant, who must not learn the size of the log.
   */
  runMoment(
    caller: Caller,
    runId: string,
    at: { readonly treeSize: number } | { readonly time: string },
  ): Promise<RunMoment | RunMomentRefusal>
  /** An event of the tenant by its id. */
  event(caller: Caller, eventId: string): Promise<MatchedEvent | undefined>
  /** Why `matching` would refuse this query; undefined if it would not. */
  matchingRefusal(caller: Caller, filter: EventQuery, range: { readonly asOf: AsOf }): Promise<AuditRefusal | undefined>
  /**
   * Whole events that match a query, in log order, up to `asOf`, for exports. Throws `DamagedIndexError` if the store no longer holds an event of the
   * index, and `RangeError` for a query that is refused.
   */
  matching(
    caller: Caller,
    filter: EventQuery,
    range: { readonly asOf: AsOf; readonly afterLeaf?: number },
  ): AsyncIterable<readonly MatchedEvent[]>
}

export type MatchedEvent = LedgerEvent & { readonly leaf: number }

/** The store does not hold an event that is in the index: the store was restored or truncated. */
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

export type SignedReview = { readonly ok: true; readonly value: ReviewAnswer } | AuditRefusal

/** Resolves once the review is recorded. Refused if the query, its filters or the size of the log are not valid. */
export type SignsReviews = (caller: Caller, asked: SignReview) => Promise<SignedReview>
