/**
 * @module The store port: durable, ordered streams of sealed records. Every backend passes `test/store/contract.ts`.
 *
 * A backend stores bytes. It never reads a body, checks a MAC or makes a decision; the only exception is the group notes that it writes itself
 * (`noteWith`).
 */
import type { AppendRecord, StoredRecord } from '../../schemas/header.ts'
import type { MovedBodies } from './archived-body.ts'

/** Place in the store's global order. Opaque: compare positions with `comparePositions` of the store that issued them, and store them as text. */
export type Position = string

/** Revision of the (non-existent) event before the first one of a stream. As an expected revision it means "the stream must not exist yet". */
export const NO_STREAM = -1

export interface Append {
  readonly stream: string
  /** Revision of the last event that the caller knows; `NO_STREAM` for a new stream. There is no "any revision" value. */
  readonly expectedRevision: number
  readonly records: readonly AppendRecord[]
}

export type AppendResult =
  /** Durable: the records survive a crash of the process, and a crash of the machine if its disk honours fsync. */
  | { readonly kind: 'appended'; readonly revision: number; readonly position: Position }
  /** Nothing was written; the last revision of the stream is `actual` (`NO_STREAM` if the stream does not exist). */
  | { readonly kind: 'conflict'; readonly actual: number }
  /** Nothing was written: an event of this stream already carries that request id, at `revision`. */
  | { readonly kind: 'duplicate-request'; readonly requestId: string; readonly revision: number }
  /** Nothing was written: the medium is full. Reads still work; appends succeed again when space is freed. */
  | { readonly kind: 'full'; readonly detail: string }
  /** Nothing was written: the store does not accept appends now. `retryAfterMs` is a reasonable delay before the next attempt. */
  | { readonly kind: 'unavailable'; readonly detail: string; readonly retryAfterMs: number }
  /** The append may or may not have been written: read the stream after the expected revision and compare ids and MACs. */
  | { readonly kind: 'unknown'; readonly detail: string }

/** A record with its place. `stream` and `revision` come from the store's own columns; a verifier compares them with the header. */
export interface ReadRecord extends StoredRecord {
  readonly position: Position
  readonly stream: string
  readonly revision: number
  /** The store's column for the request id in the header, in backends that have such a column. */
  readonly requestId?: string
}

export interface ReadStreamOptions {
  /** First revision, inclusive. Default 0. */
  readonly from?: number
  /** Last revision, inclusive. Default: the end. */
  readonly to?: number
  readonly direction?: 'forwards' | 'backwards'
}

export interface ReadAllOptions {
  /** Exclusive; undefined reads from the start. */
  readonly after?: Position | undefined
  /** Inclusive; undefined reads up to the end of the store at the time when the reader reaches it. */
  readonly until?: Position | undefined
  /** Only streams of this tenant (`run-<tenant>.*`, `ledger-<tenant>`, `access-<tenant>.*`). */
  readonly tenant?: string | undefined
  /** Set by each of several followers that read the same store concurrently: a page read for one of them shortly before may be reused for the others. */
  readonly isShared?: boolean | undefined
}

/** A failed system call on the store's own medium. */
export interface StoreFault {
  readonly file: string
  /** The system call, as far as the driver reports it: `fsync`, `write` and the like. */
  readonly operation: string
  /** Errno name, such as `EIO` or `ENOSPC`. */
  readonly errno: string
  /** The driver's own code, such as `SQLITE_IOERR_FSYNC`. */
  readonly code: string
}

/** A stream whose events a server may drop or has dropped, because of a limit set on it or because it was deleted. */
export interface ForgettingStream {
  readonly stream: string
  /** The reason in the server's words: `$maxCount 2`, `deleted for good`. */
  readonly why: string
  /** `deleted`: the events are hidden until the deletion is reverted. `gone`: only a backup can restore them. */
  readonly loss: 'limited' | 'deleted' | 'gone'
}

/** An event that was acknowledged to this process as durable and that the store no longer holds: the store went backwards. */
export interface StoreLoss {
  readonly stream: string
  readonly revision: number
  readonly position: Position
  /** File that prevents the next start from trusting the store; absent if nothing outlives the process. */
  readonly note?: string
}

export interface StoreStatus {
  /** `full`: reads still work, appends are refused until space is freed. */
  readonly state: 'ready' | 'full' | 'unavailable' | 'failed'
  readonly detail?: string
  readonly fault?: StoreFault
  /** Absent if there are none. All other streams are served as usual. */
  readonly forgetting?: readonly ForgettingStream[]
  /** Set if the store went backwards: the state is `failed`, and nothing is read or written any more. */
  readonly loss?: StoreLoss
}

/** Seals the notes that are stored in the event store, under the ledger's keys. */
export interface NoteSeal {
  seal(text: string): string
  /** Undefined if the key that the seal names is not known. */
  holds(text: string, seal: string): boolean | undefined
}

/** Events that a writer attested and that are no longer where it wrote them. */
export interface LostEvents {
  readonly stream: string
  /** Revision of the first lost event; `position` is where that event was. */
  readonly revision: number
  readonly position: Position
  readonly events: number
}

/** What a store must still hold, provided by the component that knows what the store has acknowledged. */
export interface HeldTo {
  /** The newest record that is known to be durable. A server that lacks this record must not be written to. */
  readonly last: () => { readonly position: Position; readonly id: string } | undefined
  /**
   * To be called when another server, or an older state of the same server, may answer from now on. Resolves to false if it lacks that record or does not
   * answer.
   */
  readonly check: () => Promise<boolean>
}

/** Whether the store's medium is open for reads, regardless of whether it accepts appends. */
export function takesReads({ state }: StoreStatus): boolean {
  return state === 'ready' || state === 'full'
}

/** Pages of records, oldest first by default. Pages bound memory; each backend chooses their size. */
export type RecordPages = AsyncIterable<readonly ReadRecord[]>

export interface EventStore extends AsyncDisposable {
  /** `sqlite:<path>`, `memory:` and so on: the value that a user would pass as `--store`. */
  readonly url: string
  /** Maximum size of one append in bytes (header + salt + data). */
  readonly maxAppendBytes: number
  /** Bytes of the records that wait to be written. Absent if the store has no queue. */
  readonly waitingBytes?: number
  /**
   * No other process writes this store while it is open, so an append may be submitted that builds on one that is still queued. If this is not set, an
   * event of another writer may take the place of a failed append, and the expected revision alone cannot distinguish the two.
   */
  readonly exclusive?: boolean
  /**
   * Positions are 1, 2, 3 and so on, and all belong to this ledger: a position without a record means that an event is gone. Absent if gaps have no
   * meaning.
   */
  readonly densePositions?: boolean
  /**
   * Writes all records or none, in one durable write. Appends are applied in the order in which they are submitted, so an append may build on one that is
   * still queued; if that one fails, the appends that build on it answer `conflict`. Never retries: retrying is the caller's decision.
   */
  append(append: Append): Promise<AppendResult>
  /** Last durable revision of a stream, `NO_STREAM` if the stream does not exist. Always current: never answered from a stale replica. */
  head(stream: string): Promise<number>
  readStream(stream: string, options?: ReadStreamOptions): RecordPages
  readAll(options?: ReadAllOptions): RecordPages
  /** The record at exactly this position, undefined if there is none. Throws `TypeError` for text that is not a position of this store. */
  recordAt(position: Position): Promise<ReadRecord | undefined>
  /** Position of the last durable record, undefined in an empty store. */
  end(): Promise<Position | undefined>
  /** Revision of the stream's event that carries this request id, undefined if none does. */
  findRequest(stream: string, requestId: string): Promise<number | undefined>
  /**
   * The first positions that were assigned but have no record, at most `limit`; absent if positions are not dense. `among`: only of the last so many, which
   * takes the same time in a store of any size.
   */
  missingPositions?(limit: number, among?: number): Promise<readonly Position[]>
  /**
   * Assigned positions after the last record: events that existed at the end of the store and are gone. Undefined if there are none; absent if positions
   * are not dense.
   */
  missingEnd?(): Promise<PositionRange | undefined>
  /**
   * Checks what writers attested after `after`, up to `until` or to the end. Successive calls continue from each other or start again from the beginning.
   * Absent if positions are dense, or if nothing attests events.
   */
  attested?(range: { readonly after?: Position | undefined; readonly until?: Position }): Promise<Attested>
  /**
   * Those of the given streams whose first event no longer exists, although each of them had one. A stream that was deleted as a whole is not included:
   * `status()` names it. Absent if no other process could remove events.
   */
  lostBeginnings?(streams: readonly string[]): Promise<readonly string[]>
  /**
   * Sets the seal for the notes that attest written events, and the check for existing notes. Called once, before the first append. Absent if nothing is
   * attested.
   */
  noteWith?(seal: NoteSeal): void
  /** Sets what the store must still hold. Absent if its file cannot be replaced without the writer noticing. Called once, before the first append. */
  holdTo?(known: HeldTo): void
  /**
   * Catch-up, then live, until `signal` aborts. Yields pages in store order, and `'caught-up'` each time the reader has seen every record. Nothing is
   * buffered for a slow reader: it continues to read from the store at its own pace.
   */
  subscribe(
    options: Omit<ReadAllOptions, 'until'>,
    signal: AbortSignal,
  ): AsyncIterable<readonly ReadRecord[] | 'caught-up'>
  /**
   * Replaces salt and body of rows by their places in an archive, all or none; durable once resolved. Reads then take them from the archive. The archive must
   * be durable and recorded before. Rejects if nothing was moved, or if that is not known. Absent if this kind of store cannot.
   */
  moveBodies?(moved: MovedBodies): Promise<void>
  /** Gives the space of moved bodies back; appends wait meanwhile. Absent if this kind of store cannot. */
  compact?(): Promise<void>
  /** Comparator for `Array.prototype.sort`: negative, zero or positive. Throws `TypeError` for text that is not a position of this store. */
  comparePositions(a: Position, b: Position): number
  status(): StoreStatus
  /** Called whenever `status()` changes; returns the unsubscriber. */
  onStatus(listener: (status: StoreStatus) => void): () => void
}

/** Thrown by reads while the store reopens its medium, and after the store is closed. Subscriptions wait instead. */
export class StoreUnavailableError extends Error {
  readonly code = 'store-unavailable'
  /** Reasonable delay before the next attempt, in milliseconds. */
  readonly retryAfterMs: number

  constructor(message: string, retryAfterMs: number, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StoreUnavailableError'
    this.retryAfterMs = retryAfterMs
  }
}

/** Thrown by reads once the store was found to lack an event that it had acknowledged. Waiting does not help; `message` says what to do. */
export class StoreWentBackError extends StoreUnavailableError {
  override readonly name = 'StoreWentBackError'
}

/** Thrown by reads of a stream that was deleted or truncated on the server: the record of one run, or of one tenant's log, is gone. Waiting does not help. */
export class StreamDeletedError extends Error {
  readonly code = 'stream-deleted'
  readonly stream: string

  constructor(
    stream: string,
    message = `${stream} was deleted on the server: run "countersign verify", which says what can be done`,
  ) {
    super(message)
    this.name = 'StreamDeletedError'
    this.stream = stream
  }
}

/** The event at a revision of a stream; undefined if there is none. */
export async function readOne(
  store: Pick<EventStore, 'readStream'>,
  { stream, revision }: { readonly stream: string; readonly revision: number },
): Promise<ReadRecord | undefined> {
  for await (const [record] of store.readStream(stream, { from: revision, to: revision }))
    if (record !== undefined) return record
  return undefined
}

/** Thrown by `open…Store`: `code` is stable, `message` says what to do. Only `store-away` may be temporary. */
export class StoreOpenError extends Error {
  readonly code:
    | 'store-locked'
    | 'store-newer'
    | 'store-unreadable'
    | 'store-corrupt'
    | 'store-unsupported'
    | 'store-away'
    | 'wal-damaged'

  constructor(code: StoreOpenError['code'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StoreOpenError'
    this.code = code
  }
}

export interface Attested {
  /** Attested events that are gone. */
  readonly lost: readonly LostEvents[]
  /** The first fault found in the notes themselves, in words: events may be gone that no note names. */
  readonly broken?: string | undefined
  /** Position after which events are attested: as the store reports it now (`now`), and the first one stated by notes in the range (`noted`). */
  readonly after?: { readonly now: Position; readonly noted?: Position | undefined } | undefined
}

/** Positions without a record: the first of them, and their number. */
export interface PositionRange {
  readonly first: Position
  readonly events: number
}

/** The reading half of the port. `stream`, `revision` and `requestId` of a record are the file's columns, for a verifier to compare with the header. */
export type StoreReader = Disposable &
  Pick<
    EventStore,
    | 'url'
    | 'densePositions'
    | 'missingPositions'
    | 'missingEnd'
    | 'attested'
    | 'noteWith'
    | 'head'
    | 'recordAt'
    | 'readStream'
    | 'readAll'
    | 'end'
    | 'findRequest'
    | 'subscribe'
    | 'comparePositions'
  >
