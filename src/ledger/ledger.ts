/**
 * @module The ledger as its callers see it: commands that change a run, queries that read it. HTTP, the command line and the
 * in-process runtime all stand on this interface and on nothing behind it.
 */

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
import type { RunFilter } from '../store/view-store.ts'
import type { AuditReads } from './audit/audit-reads.ts'
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
import type { Subjects } from './subjects/subjects.ts'

export type { BatchItem, Caller, Command }

/** What came with the request beside its body. */
export interface RequestInfo {
  readonly traceparent?: string
  /** Expected revision of the run: with it a conflict answers at once instead of deciding again. */
  readonly ifMatch?: number
  /** What the request took to send: large ones are spread over turns of the event loop. */
  readonly bodyBytes?: number | undefined
  readonly idempotency?: { readonly key: string; readonly method: string; readonly path: string; readonly body?: Json }
}

export type Outcome<Body extends JsonObject = JsonObject> =
  /** `created`: something new was recorded. `revision` is the run's, after it; `replayed` marks the answer of an earlier request. */
  | {
      readonly ok: true
      readonly created: boolean
      readonly runId: string
      readonly revision: number
      readonly body: Body
      readonly replayed: boolean
    }
  | { readonly ok: false; readonly refusal: Refusal; readonly revision?: number; readonly replayed: boolean }

/** Where a page of a list over the tenant's runs goes on: behind a run, or behind one item of it. */
export interface PlaceInRuns {
  readonly startedAt: string
  readonly runId: string
  /** The place in its run of the last item that was given; absent: the run is done with. */
  readonly after?: number
}

export interface EventFilter {
  readonly types?: readonly string[]
  readonly actor?: string
}

export type Found<T> =
  | { readonly ok: true; readonly value: T; readonly revision: number }
  | { readonly ok: false; readonly refusal: Refusal }

/** Where a context is requested: a step, a revision, or (neither) now. */
export interface ContextAt {
  readonly step?: number
  readonly revision?: number
}

/** What does not fit; empty where all does. */
export interface CheckedEvent {
  readonly faults: readonly { readonly code: string; readonly message: string }[]
}

export interface ReplayLine {
  readonly [member: string]: Json
}

export interface Replay {
  readonly lines: AsyncIterable<ReplayLine>
  /** What is known to be lost of the run, up to where it is replayed, or of the store. */
  readonly losses: readonly Loss[]
}

/** `overdue`: only runs with an open call whose lease is over. */
export type RunListFilter = Omit<RunFilter, 'tenant' | 'leaseOverAt'> & { readonly overdue?: true }

export interface OpenCallsPage {
  /** Only those that wait for somebody to find out what became of them. */
  readonly inDoubt: boolean
  /** Only those with the tool and the arguments of this open call, as they are recorded; itself among them. */
  readonly equalTo?: string
  /** Goes on in this run behind this claim, then with the runs that were started before it. */
  readonly after?: OpenCallsPlace
  readonly limit: number
}

export interface OpenCallsPlace {
  readonly startedAt: string
  readonly runId: string
  /** Revision of the last claim that was given. */
  readonly claim: number
}

export interface OpenCalls {
  readonly items: readonly JsonObject[]
  /** Present where there may be more. */
  readonly next?: OpenCallsPlace
  readonly asOf: Position | undefined
  /** Runs of this page that cannot be looked into. */
  readonly unreadable?: readonly UnreadableRun[]
}

export interface WaitingPage {
  readonly items: readonly JsonObject[]
  /** Present where there may be more. */
  readonly next?: PlaceInRuns
  /** Runs of this page that cannot be looked into. */
  readonly unreadable?: readonly UnreadableRun[]
}

/** Where an export ends: a place in the store, and the tenant's tree there. */
export interface ExportPin {
  /** Undefined in an empty store. */
  readonly until: Position | undefined
  /** Null where the ledger keeps no log, or the log stopped before that place. */
  readonly tree: PinnedTree | null
  /** What is known to be lost of the tenant, or of the run that was asked for. */
  readonly losses: readonly Loss[]
}

export interface PinOf {
  /** Default: where the store is now. */
  readonly until?: Position | undefined
  readonly run?: string | undefined
  /** For a document that is signed without its events being read: also those that no checkpoint covers yet are looked for. */
  readonly isSigned?: boolean
}

/** What is read of the history for a document. */
export interface ReadRange {
  readonly pin: ExportPin
  /** One run from its first event on. */
  readonly run?: string | undefined
  /** What an index found, out of any streams. */
  readonly isMatched?: boolean
  /** Of a part of the tenant's history: the event before it, and the last one. */
  readonly after?: Position | undefined
  readonly until?: Position
}

/** The tenant's log up to a pin. */
export interface PinnedTree {
  readonly size: number
  readonly root: string
  /** Id of its last event; null in an empty log. */
  readonly eventId: string | null
}

/** The tenant's log before one of its leaves: what an export that begins there goes on from. */
export interface PinnedEdge {
  /** Of the tree of the leaves before. */
  readonly root: string
  /** Digests of the perfect subtrees that these leaves make, widest first (RFC 6962). */
  readonly edge: readonly string[]
  /** The last of them; undefined where there is none. */
  readonly last: LedgerEvent | undefined
}

/** Texts that callers carry and cannot read. `name` says whose and what for, without a line feed: it is bound, not carried. */
export interface SealedPlaces {
  seal(name: string, text: string): string
  /** Undefined for all but what a ledger of this ring sealed for this name. */
  open(name: string, sealed: string): string | undefined
}

export type ExportFact =
  | { readonly type: 'ExportStarted'; readonly data: EventBody<'ExportStarted'> }
  | { readonly type: 'ExportIssued'; readonly data: EventBody<'ExportIssued'> }

/** What a signed checkpoint covers: all that a bundle proves. */
export interface SealedPin extends ExportPin {
  readonly until: Position
  readonly tree: PinnedTree
  readonly losses: readonly Loss[]
  /** The signed note, with its cosignatures. */
  readonly note: string
  /** Of the key that signed it (C2SP signed-note). */
  readonly verifierKey: string
  /** Signed notes that lead to that key from those that signed the logs before it, oldest first. */
  readonly successions: readonly string[]
}

export interface LedgerExports {
  /** Pins an export to a place: by default where the store is now. */
  pin(caller: Caller, of?: PinOf): Promise<ExportPin>
  /** Judges what is read of the tenant's history, or of one run, up to a pin. */
  reading(caller: Caller, of: ReadRange): EventReading
  /** The same of the tenant's history alone: it says of each event which leaf it is, too. */
  leafReading(caller: Caller, range: Omit<LeafRange, 'tenant'>): LeafReading
  /** What is lost of a run that was read up to a pin: the log knows of more events, or of another last one. */
  lostBehind(
    caller: Caller,
    run: string,
    read: { readonly events: number; readonly until: Position },
  ): Promise<readonly Loss[]>
  /** The first `size` leaves of the log that a pin has brought up to date. Throws `LogGapError` where the store lost the last of them. */
  edgeAt(caller: Caller, size: number): Promise<PinnedEdge>
  /** Brings the tenant's log and its checkpoint up to date; undefined where no log is kept, or nothing can be signed. */
  sealedPin(caller: Caller, run?: string): Promise<SealedPin | undefined>
  /** The first `size` events of the tenant's log, in its order. Throws `LogGapError` where the store lost one. */
  leaves(caller: Caller, size: number): AsyncIterable<readonly LedgerEvent[]>
  /** Shows how many events a run has up to the pin; undefined where its checkpoint does not say so, or is not the last one any more. */
  streamPath(caller: Caller, runId: string, pin: SealedPin): Promise<StreamPath | undefined>
  /** The last time-stamped checkpoint that the pinned tree continues; undefined where there is none. */
  timestamp(caller: Caller, pin: SealedPin): Promise<TimestampedCheckpoint | undefined>
  /** The first `count` events of a run. */
  runEvents(caller: Caller, runId: string, count: number): AsyncIterable<readonly LedgerEvent[]>
  /** The stored parts of a large value of the tenant, in order, whether they are whole or not; none where it is gone. */
  valueParts(caller: Caller, digest: string): AsyncIterable<EventBody<'ValueStored'>>
  /** Proof file of an event against a sealed pin (C2SP tlog-proof). Throws `RangeError` where the pin does not cover it. */
  proofFile(caller: Caller, eventId: string, pin: SealedPin): string
  /** A document signed with the key of the tenant's log (DSSE); undefined where no log is kept, and so no name for its key. */
  sign(caller: Caller, payloadType: string, payload: Uint8Array): DsseEnvelope | undefined
  /** The clock that an export is dated with: RFC 3339, UTC. */
  now(): string
  /** Puts an export on record in the tenant's ledger stream. Throws `StoreUnavailableError`: then nothing may leave. */
  record(caller: Caller, fact: ExportFact): Promise<void>
}

export interface Ledger extends AsyncDisposable {
  readonly ledgerId: string
  readonly origin: string
  /** The Merkle logs, where the ledger keeps them. */
  readonly logs?: TenantLogs
  /** What auditors ask, where the ledger keeps an index for it. */
  readonly audit?: AuditReads

  /** Decides, seals and appends one command; `runId` is ignored where `start` names none. Never throws for what a caller sent. */
  execute<C extends Command>(
    caller: Caller,
    runId: string,
    command: C,
    info: RequestInfo,
  ): Promise<Outcome<AnswerTo<C>>>
  /**
   * Many commands, each with its own outcome, in the order of the request; items of one run are decided in order. After a refused envelope
   * the later envelopes of its run answer `not-attempted`. An idempotency key covers each item under key and index.
   */
  executeBatch(caller: Caller, items: readonly BatchItem[], info: RequestInfo): Promise<readonly Outcome[]>

  /** What is known to be lost of a tenant, or of one run: no answer about it is whole. */
  losses(range: LossRange): readonly Loss[]

  /** State with totals, open calls, last snapshot; now, or as it was right after one of its events. */
  run(caller: Caller, runId: string, at?: RunAt): Promise<Found<RunAnswer>>
  /** The established context, now or as it was. */
  context(caller: Caller, runId: string, at: ContextAt): Promise<Found<ContextAnswer>>
  /** Envelopes, accepted and rejected, oldest first. */
  envelopes(caller: Caller, runId: string, page: RunPage): Promise<Found<JsonObject>>
  /** Calls with status, attempts and outcome, in order of claim. */
  calls(caller: Caller, runId: string, page: RunPage): Promise<Found<JsonObject>>
  call(caller: Caller, runId: string, callId: string): Promise<Found<JsonObject>>
  /** Approvals with their arguments, in order of request. */
  approvals(caller: Caller, runId: string, page: RunPage): Promise<Found<JsonObject>>
  approval(caller: Caller, runId: string, approvalId: string, at?: RunAt): Promise<Found<JsonObject>>
  /** What somebody in the tenant can still decide. Throws `RangeError` for a caller who is bound to a run. */
  pendingApprovals(
    caller: Caller,
    page: { readonly from?: PlaceInRuns; readonly limit: number },
  ): Promise<Found<WaitingPage>>
  /** Changes of a run that were accepted and that nothing explains, oldest first: those that are open; `total` counts them. */
  suspects(caller: Caller, runId: string, page: RunPage): Promise<Found<JsonObject>>
  /** Those of the tenant's open runs. Throws `RangeError` for a caller who is bound to a run. */
  openSuspects(
    caller: Caller,
    page: { readonly from?: PlaceInRuns; readonly limit: number },
  ): Promise<Found<WaitingPage>>
  /** Waits for signals and times with how they ended, in order of start. */
  waits(caller: Caller, runId: string, page: RunPage): Promise<Found<JsonObject>>
  wait(caller: Caller, runId: string, waitId: string, at?: RunAt): Promise<Found<JsonObject>>
  /** Totals, limits, and a page of reservations: by default the first 100, with `next`, the id to go on behind, where there are more. */
  budget(caller: Caller, runId: string, page?: ReservationsPage): Promise<Found<JsonObject>>
  /** A value that the run's events name: its canonical text, as `application/json`. */
  value(caller: Caller, runId: string, digest: string): Promise<Found<string>>
  /** Findings of rejected envelopes, and warnings of accepted ones. */
  findings(caller: Caller, runId: string, page: RunPage): Promise<Found<JsonObject>>
  manifests(caller: Caller, runId: string): Promise<Found<JsonObject>>
  /** The rollback's plan with each action's state. */
  compensations(caller: Caller, runId: string): Promise<Found<JsonObject>>
  /** Forks with the state of each branch, oldest first. */
  forks(caller: Caller, runId: string, page: RunPage): Promise<Found<JsonObject>>

  /** Events of one run, by revision. `kept`: with the values that are encrypted in them. */
  runEvents(
    caller: Caller,
    runId: string,
    range: { from: number; to?: number; kept?: true },
  ): Promise<Found<AsyncIterable<readonly LedgerEvent[]>>>
  /** Events of the whole tenant in store order. `until` pins the end. */
  tenantEvents(caller: Caller, range: { after?: Position; until?: Position }): AsyncIterable<readonly LedgerEvent[]>
  /** Catch-up, then live, of a run or (no run) the tenant. */
  tail(
    caller: Caller,
    from: { runId?: string; after?: Position; kept?: true },
    signal: AbortSignal,
  ): AsyncIterable<readonly LedgerEvent[] | 'caught-up'>
  /** The event at a position, to judge a cursor by: undefined where there is none, or it is another tenant's. */
  eventAt(caller: Caller, position: Position): Promise<LedgerEvent | undefined>
  /** Position of the last event in the store, of any tenant: for this process alone. Undefined in an empty one. */
  end(): Promise<Position | undefined>
  comparePositions(a: Position, b: Position): number
  /**
   * What an answer up to a position is as of, for the caller to see: id of the last event of the caller's own log up to there. Null where
   * there is none, or the log is not kept, stopped before, or cannot be brought up to date.
   */
  lastEventId(caller: Caller, until: Position | undefined): Promise<string | null>
  readonly places: SealedPlaces
  /** What is on record of the processes that serve the ledger. */
  readonly service: ServiceRecord & ServiceReads
  /** What leaves the ledger, and its record. */
  readonly exports: LedgerExports
  readonly notices: Notices

  /** One event checked as verification would: mac, body, place, and the link to the event before it. */
  checkEvent(caller: Caller, runId: string, revision: number): Promise<Found<CheckedEvent>>

  /** Gives away the keys of a run that has ended: RunKeyDisclosed is on record first, and nothing follows it. */
  discloseRunKeys(caller: Caller, runId: string): Promise<Found<JsonObject>>

  /** Whose values are kept encrypted: where, and that they be forgotten. */
  readonly subjects: Subjects

  /** What a tenant has lost, and the acknowledgement of what cannot be had again. */
  readonly lostEvents: LostEvents

  /** Rereads, verifies and folds a run again: one line a step, a verdict last. */
  replay(caller: Caller, runId: string, at?: RunAt): Promise<Found<Replay>>

  listRuns(caller: Caller, filter: RunListFilter): Promise<{ items: readonly JsonObject[]; asOf: Position | undefined }>

  /** What does not verify, and what the scrub has read. */
  readonly integrity: Integrity

  /** Calls without an outcome, those of models aside, of all runs: newest run first. */
  openCalls(caller: Caller, page: OpenCallsPage): Promise<Found<OpenCalls>>

  status(): StoreStatus
  /** Counters for /metrics. */
  stats(): LedgerStats
  /** Resolves once every append handed over so far is durable or refused. */
  drain(): Promise<void>
}
