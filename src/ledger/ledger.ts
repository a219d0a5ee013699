/**
 * @module The ledger as its callers see it: commands that change a run, and queries that read it. HTTP, the command line and the in-process runtime
 * depend on this interface only.
 */

import type { LostEvent } from '../../schemas/acknowledged-loss.ts'
import type { AnswerTo } from '../../schemas/answers/commands.ts'
import type { ContextAnswer, RunAnswer } from '../../schemas/answers/runs.ts'
import type { BatchItem, Command } from '../../schemas/commands.ts'
import type { EventBody } from '../../schemas/events.ts'
import type { Json, JsonObject } from '../../schemas/json.ts'
import type { Loss } from '../../schemas/loss.ts'
import type { Caller } from '../access/caller.ts'
import type { Refusal } from '../domain/refusal.ts'
import type { StreamPath } from '../merkle/stream-tree.ts'
import type { DsseEnvelope } from '../signing/dsse.ts'
import type { Position, StoreStatus } from '../store/event-store.ts'
import type { DueFilter, DuePlace, RunFilter } from '../store/view-store.ts'
import type { AuditReads, SignsReviews } from './audit/audit-reads.ts'
import type { EventReading, LeafRange, LeafReading } from './integrity/event-reading.ts'
import type { Integrity } from './integrity/integrity.ts'
import type { LossRange } from './integrity/known-losses.ts'
import type { LostEvents } from './integrity/losses.ts'
import type { LedgerEvent } from './ledger-event.ts'
import type { LedgerStats } from './ledger-stats.ts'
import type { TenantLogs, TimestampedCheckpoint } from './log/tenant-logs.ts'
import type { Notices } from './read/notices.ts'
import type { UnreadableRun } from './read/unreadable.ts'
import type { ReservationsPage, RunAt, RunPage } from './run-at.ts'
import type { ServiceReads, ServiceRecord } from './service.ts'
import type { Archives } from './subjects/archive-records.ts'
import type { Holds, Subjects } from './subjects/subjects.ts'
import type { Tokens } from './tokens/tokens.ts'

export type { BatchItem, Caller, Command }

/** The parts of a request other than its body. */
export interface RequestInfo {
  readonly traceparent?: string
  /** Expected revision of the run. If present, a conflict is answered at once instead of being decided again. */
  readonly ifMatch?: number
  /** Size of the request body in bytes. Work on large bodies is spread over several turns of the event loop. */
  readonly bodyBytes?: number | undefined
  readonly idempotency?: { readonly key: string; readonly method: string; readonly path: string; readonly body?: Json }
}

export type Outcome<Body extends JsonObject = JsonObject> =
  /**
   * `created`: whether something new was recorded. `revision`: revision of the run afterwards. `replayed`: whether this is the answer to an earlier
   * request.
   */
  | {
      readonly ok: true
      readonly created: boolean
      readonly runId: string
      readonly revision: number
      readonly body: Body
      readonly replayed: boolean
    }
  | { readonly ok: false; readonly refusal: Refusal; readonly revision?: number; readonly replayed: boolean }

/** Cursor of a list over the runs of a tenant: the next page starts after a run, or after one item of it. */
export interface PlaceInRuns {
  readonly startedAt: string
  readonly runId: string
  /** Place within its run of the last item returned; absent if the run has been listed completely. */
  readonly after?: number
}

export interface EventFilter {
  readonly types?: readonly string[]
  readonly actor?: string
}

export type Found<T> =
  | { readonly ok: true; readonly value: T; readonly revision: number }
  | { readonly ok: false; readonly refusal: Refusal }

/** The point at which a context is requested: a step, a revision, or (neither) now. */
export interface ContextAt {
  readonly step?: number
  readonly revision?: number
}

/** The faults that were found; empty if the event is valid. */
export interface CheckedEvent {
  readonly faults: readonly { readonly code: string; readonly message: string }[]
}

export interface ReplayLine {
  readonly [member: string]: Json
}

export interface Replay {
  readonly lines: AsyncIterable<ReplayLine>
  /** The known losses of the store and of the run, up to the replayed revision. */
  readonly losses: readonly Loss[]
}

/** `overdue`: only runs with an open call whose lease has expired. */
export type RunListFilter = Omit<RunFilter, 'tenant' | 'leaseOverAt'> & { readonly overdue?: true }

/** Runs that a worker may carry on. */
export interface DueQuery extends Omit<DueFilter, 'tenant' | 'dueBy'> {
  /** Nothing is due while workers carry so many runs of the tenant. */
  readonly perTenant?: number
}

export interface DueRuns {
  readonly items: readonly JsonObject[]
  /** The page is full: others may be due after this place. */
  readonly next?: DuePlace
  readonly asOf: Position | undefined
  /** Milliseconds until the next run becomes due, if nothing happens before. */
  readonly nextMs?: number
  /** Nothing is due because workers carry as many runs as they may. */
  readonly isFull?: true
}

/** `in-doubt`: so recorded, whether or not the call may be made again. `overdue`: claimed, and its lease is over (STR-2). No call is both. */
export type Unsettled = 'in-doubt' | 'overdue'

export interface OpenCallsPage {
  /** Only these of them; all if absent. */
  readonly of?: Unsettled
  /** Only calls with the tool and the recorded arguments of this open call, including the call itself. */
  readonly equalTo?: string
  /** Continues in this run after this claim, then with the runs that were started before it. */
  readonly after?: OpenCallsPlace
  readonly limit: number
}

export interface OpenCallsPlace {
  readonly startedAt: string
  readonly runId: string
  /** Revision of the last claim that was returned. */
  readonly claim: number
}

export interface OpenCalls {
  readonly items: readonly JsonObject[]
  /** On the first page of those in doubt, or overdue, of a caller that sees every agent: how many there are on all pages. */
  readonly total?: UnsettledTotal
  /** Present if there may be more items. */
  readonly next?: OpenCallsPlace
  readonly asOf: Position | undefined
  /** Runs of this page that cannot be read. */
  readonly unreadable?: readonly UnreadableRun[]
}

/** From the run list: of a lease that was taken over, or whose owner is gone, it learns when the time of the lease is over. */
export interface UnsettledTotal {
  readonly calls: number
  /** There are more runs with open calls than were counted. */
  readonly isLeast?: true
}

export interface WaitingPage {
  readonly items: readonly JsonObject[]
  /** Present if there may be more items. */
  readonly next?: PlaceInRuns
  /** Runs of this page that cannot be read. */
  readonly unreadable?: readonly UnreadableRun[]
}

/** The end of an export: a position in the store, and the tree of the tenant there. */
export interface ExportPin {
  /** Undefined if the store is empty. */
  readonly until: Position | undefined
  /** Null if the ledger keeps no log, or if the log stopped before that position. */
  readonly tree: PinnedTree | null
  /** The known losses of the tenant, or of the requested run. */
  readonly losses: readonly Loss[]
}

export interface PinOf {
  /** Default: the current end of the store. */
  readonly until?: Position | undefined
  readonly run?: string | undefined
  /** For a document that is signed without reading its events: events that no checkpoint covers yet are looked up as well. */
  readonly isSigned?: boolean
}

/** The part of the history that is read for a document. */
export interface ReadRange {
  readonly pin: ExportPin
  /** One run, from its first event. */
  readonly run?: string | undefined
  /** The events come from an index query and may belong to any streams. */
  readonly isMatched?: boolean
  /** For a part of the tenant's history: the position of the event before it, and of its last event. */
  readonly after?: Position | undefined
  readonly until?: Position
}

/** The log of the tenant up to a pin. */
export interface PinnedTree {
  readonly size: number
  readonly root: string
  /** Id of the last event of the log; null if the log is empty. */
  readonly eventId: string | null
}

/** The log of the tenant before one of its leaves: an export that starts at that leaf continues from here. */
export interface PinnedEdge {
  /** Root of the tree of the preceding leaves. */
  readonly root: string
  /** Digests of the perfect subtrees of these leaves, widest first (RFC 6962). */
  readonly edge: readonly string[]
  /** The last of these leaves; undefined if there is none. */
  readonly last: LedgerEvent | undefined
}

/**
 * Opaque texts that clients carry but cannot read. `name` says to whom and for what a text belongs, without a line feed; it is bound to the text by
 * the seal and not contained in it.
 */
export interface SealedPlaces {
  seal(name: string, text: string): string
  /** Returns undefined for anything but a text that a ledger with this key ring sealed for this name. */
  open(name: string, sealed: string): string | undefined
}

export type ExportFact =
  | { readonly type: 'ExportStarted'; readonly data: EventBody<'ExportStarted'> }
  | { readonly type: 'ExportIssued'; readonly data: EventBody<'ExportIssued'> }

/** The events that a signed checkpoint covers: everything that a bundle proves. */
export interface SealedPin extends ExportPin {
  readonly until: Position
  readonly tree: PinnedTree
  readonly losses: readonly Loss[]
  /** The signed note, with its cosignatures. */
  readonly note: string
  /** Verifier key of the key that signed the note (C2SP signed-note). */
  readonly verifierKey: string
  /** Signed notes that lead from the earlier keys of the logs to that key, oldest first. */
  readonly successions: readonly string[]
}

export interface LedgerExports {
  /** Pins an export to a position, by default the current end of the store. */
  pin(caller: Caller, of?: PinOf): Promise<ExportPin>
  /** Checks the events that are read from the history of the tenant or of one run, up to a pin. */
  reading(caller: Caller, of: ReadRange): EventReading
  /** Like `reading`, for the history of the tenant only; it also returns the leaf index of each event. */
  leafReading(caller: Caller, range: Omit<LeafRange, 'tenant'>): LeafReading
  /** The losses of a run that was read up to a pin: the log knows of more events, or of a different last event. */
  lostBehind(
    caller: Caller,
    run: string,
    read: { readonly events: number; readonly until: Position },
  ): Promise<readonly Loss[]>
  /** The first `size` leaves of the log, which a pin has brought up to date. Throws `LogGapError` if the store has lost the last of them, unless that is acknowledged. */
  edgeAt(caller: Caller, size: number): Promise<PinnedEdge>
  /** Brings the log of the tenant and its checkpoint up to date. Undefined if no log is kept, or if nothing can be signed. */
  sealedPin(caller: Caller, run?: string): Promise<SealedPin | undefined>
  /** The events that the tenant's log continued past because their loss is acknowledged, and that the store does not have again; in log order. */
  lostInLog(caller: Caller): Promise<readonly LostEvent[]>
  /** The first `size` events of the tenant's log, in log order, except for the `lost` ones. Throws `LogGapError` if the store has lost another one. */
  leaves(caller: Caller, size: number, lost?: readonly LostEvent[]): AsyncIterable<readonly LedgerEvent[]>
  /** Proves how many events a run has up to the pin. Undefined if the checkpoint of the pin does not state it, or is no longer the last one. */
  streamPath(caller: Caller, runId: string, pin: SealedPin): Promise<StreamPath | undefined>
  /** The last time-stamped checkpoint with which the pinned tree is consistent; undefined if there is none. */
  timestamp(caller: Caller, pin: SealedPin): Promise<TimestampedCheckpoint | undefined>
  /** The first `count` events of a run. */
  runEvents(caller: Caller, runId: string, count: number): AsyncIterable<readonly LedgerEvent[]>
  /** The stored parts of a large value of the tenant, in order, without checking that they are complete; empty if the value is gone. */
  valueParts(caller: Caller, digest: string): AsyncIterable<EventBody<'ValueStored'>>
  /** Proof file of an event against a sealed pin (C2SP tlog-proof). Throws `RangeError` if the pin does not cover the event. */
  proofFile(caller: Caller, eventId: string, pin: SealedPin): string
  /** Signs a document with the key of the tenant's log (DSSE). Undefined if no log is kept, since its key then has no name. */
  sign(caller: Caller, payloadType: string, payload: Uint8Array): DsseEnvelope | undefined
  /** Current time with which an export is dated: RFC 3339, UTC. */
  now(): string
  /** Records an export in the tenant's ledger stream. Throws `StoreUnavailableError`; nothing may leave the ledger in that case. */
  record(caller: Caller, fact: ExportFact): Promise<void>
}

export interface Ledger extends AsyncDisposable {
  readonly ledgerId: string
  readonly origin: string
  /** The Merkle logs, if the ledger keeps them. */
  readonly logs?: TenantLogs
  /** The audit queries, if the ledger keeps an index for them. */
  readonly audit?: AuditReads

  /** Decides, seals and appends one command. `runId` is ignored for a `start` command that names no run. Never throws because of the content of a request. */
  execute<C extends Command>(
    caller: Caller,
    runId: string,
    command: C,
    info: RequestInfo,
  ): Promise<Outcome<AnswerTo<C>>>
  /**
   * Executes many commands, each with its own outcome, in the order of the request. Items of one run are decided in order: after a refused envelope,
   * the later envelopes of that run are answered with `not-attempted`. An idempotency key covers each item as key plus index.
   */
  executeBatch(caller: Caller, items: readonly BatchItem[], info: RequestInfo): Promise<readonly Outcome[]>

  /** The known losses of a tenant or of one run; answers about either are incomplete if there are any. */
  losses(range: LossRange): readonly Loss[]

  /** State of a run with totals, open calls and the last snapshot, now or as of right after one of its events. */
  run(caller: Caller, runId: string, at?: RunAt): Promise<Found<RunAnswer>>
  /** The established context, now or as of an earlier point. */
  context(caller: Caller, runId: string, at: ContextAt): Promise<Found<ContextAnswer>>
  /** Accepted and rejected envelopes, oldest first. */
  envelopes(caller: Caller, runId: string, page: RunPage): Promise<Found<JsonObject>>
  /** Calls with status, attempts and outcome, in order of claim. */
  calls(caller: Caller, runId: string, page: RunPage): Promise<Found<JsonObject>>
  call(caller: Caller, runId: string, callId: string): Promise<Found<JsonObject>>
  /** Approvals with their arguments, in order of request. */
  approvals(caller: Caller, runId: string, page: RunPage): Promise<Found<JsonObject>>
  approval(caller: Caller, runId: string, approvalId: string, at?: RunAt): Promise<Found<JsonObject>>
  /** Approvals in the tenant that can still be decided. Throws `RangeError` for a caller that is bound to a run. */
  pendingApprovals(
    caller: Caller,
    page: { readonly from?: PlaceInRuns; readonly limit: number },
  ): Promise<Found<WaitingPage>>
  /** Accepted changes of a run that nothing explains, oldest first: only those still open. `total` counts them. */
  suspects(caller: Caller, runId: string, page: RunPage): Promise<Found<JsonObject>>
  /** Open suspect changes in the open runs of the tenant. Throws `RangeError` for a caller that is bound to a run. */
  openSuspects(
    caller: Caller,
    page: { readonly from?: PlaceInRuns; readonly limit: number },
  ): Promise<Found<WaitingPage>>
  /** Waits for signals and times with their results, in order of start. */
  waits(caller: Caller, runId: string, page: RunPage): Promise<Found<JsonObject>>
  wait(caller: Caller, runId: string, waitId: string, at?: RunAt): Promise<Found<JsonObject>>
  /** Totals, limits and a page of reservations: by default the first 100, with `next` (the id after which to continue) if there are more. */
  budget(caller: Caller, runId: string, page?: ReservationsPage): Promise<Found<JsonObject>>
  /** A value that the events of the run reference: its canonical text, as `application/json`. */
  value(caller: Caller, runId: string, digest: string): Promise<Found<string>>
  /** Findings of rejected envelopes, and warnings of accepted ones. */
  findings(caller: Caller, runId: string, page: RunPage): Promise<Found<JsonObject>>
  manifests(caller: Caller, runId: string): Promise<Found<JsonObject>>
  /** The rollback plan with the state of each action. */
  compensations(caller: Caller, runId: string): Promise<Found<JsonObject>>
  /** Forks with the state of each branch, oldest first. */
  forks(caller: Caller, runId: string, page: RunPage): Promise<Found<JsonObject>>

  /** Events of one run, by revision. `kept`: include the decrypted values of the events. */
  runEvents(
    caller: Caller,
    runId: string,
    range: { from: number; to?: number; kept?: true },
  ): Promise<Found<AsyncIterable<readonly LedgerEvent[]>>>
  /** Events of the whole tenant in store order. `until` pins the end. */
  tenantEvents(caller: Caller, range: { after?: Position; until?: Position }): AsyncIterable<readonly LedgerEvent[]>
  /** Events of a run (or of the tenant, without a run): first catch-up, then live. */
  tail(
    caller: Caller,
    from: { runId?: string; after?: Position; kept?: true },
    signal: AbortSignal,
  ): AsyncIterable<readonly LedgerEvent[] | 'caught-up'>
  /** The event at a position, used to validate a cursor. Undefined if there is none, or if it belongs to another tenant. */
  eventAt(caller: Caller, position: Position): Promise<LedgerEvent | undefined>
  /** Position of the last event in the store, of any tenant; for use within this process only. Undefined if the store is empty. */
  end(): Promise<Position | undefined>
  comparePositions(a: Position, b: Position): number
  /**
   * The `asOf` that a caller sees for an answer up to a position: id of the last event of the caller's own log up to there. Null if there is none, or
   * if the log is not kept, stopped before, or cannot be brought up to date.
   */
  lastEventId(caller: Caller, until: Position | undefined): Promise<string | null>
  readonly places: SealedPlaces
  /** The recorded history of the processes that serve the ledger. */
  readonly service: ServiceRecord & ServiceReads
  /** Exports from the ledger, and the records of them. */
  readonly exports: LedgerExports
  readonly notices: Notices

  /** Checks one event as verification would: MAC, body, place, and the link to the event before it. */
  checkEvent(caller: Caller, runId: string, revision: number): Promise<Found<CheckedEvent>>

  /** Discloses the keys of a run that has ended. RunKeyDisclosed is recorded first, and no event follows it in the run. */
  discloseRunKeys(caller: Caller, runId: string): Promise<Found<JsonObject>>

  /** Data subjects with encrypted values: where their values are, and their erasure. */
  readonly subjects: Subjects

  /** Legal holds: what they cover is not erased. */
  readonly holds: Holds

  /** Archives of runs that have ended: their records, and the step in which bodies leave the store. */
  readonly archives: Archives

  /** Access tokens of the tenant that are refused before they expire. */
  readonly tokens: Tokens

  /** Records that a person has reviewed the answer to an audit query; absent without an index for auditors. */
  readonly signReview?: SignsReviews

  /** The lost events of a tenant, and the acknowledgement of losses that cannot be restored. */
  readonly lostEvents: LostEvents

  /** Rereads, verifies and folds a run again: one line per step, and a verdict at the end. */
  replay(caller: Caller, runId: string, at?: RunAt): Promise<Found<Replay>>

  listRuns(caller: Caller, filter: RunListFilter): Promise<{ items: readonly JsonObject[]; asOf: Position | undefined }>

  /**
   * Runs that a worker may carry on now, in the order in which they became due. If there are none, waits until there are, for at most `waitMs`, or until the
   * signal is aborted.
   */
  dueRuns(
    caller: Caller,
    query: DueQuery,
    wait: { readonly waitMs: number; readonly signal: AbortSignal },
  ): Promise<DueRuns>

  /** Events that do not verify, and the progress of the scrub. */
  readonly integrity: Integrity

  /** Calls without an outcome in all runs, except model calls; newest run first. */
  openCalls(caller: Caller, page: OpenCallsPage): Promise<Found<OpenCalls>>

  status(): StoreStatus
  /** Counters for /metrics. */
  stats(): LedgerStats
  /** Resolves once every append handed over so far is durable or refused. */
  drain(): Promise<void>
}
