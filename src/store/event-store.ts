/**
 * @module The store port: durable, ordered streams of sealed records. Every backend passes `test/store/contract.ts`.
 *
 * A backend keeps bytes; it never reads a body, checks a mac or decides anything, but for the notes that it writes itself (`noteWith`).
 */
import type { AppendRecord, StoredRecord } from '../../schemas/header.ts'

/** Place in the store's global order. Opaque: compare with `comparePositions` of the store that gave it, keep as text. */
export type Position = string

/** Revision of the event before a stream's first: "the stream must not exist yet". */
export const NO_STREAM = -1

export interface Append {
  readonly stream: string
  /** Revision of the last event the caller knows; `NO_STREAM` for a new stream. There is no "any". */
  readonly expectedRevision: number
  readonly records: readonly AppendRecord[]
}

export type AppendResult =
  /** Durable: the records survive a crash of the process at once, and of the machine where its disk honours fsync. */
  | { readonly kind: 'appended'; readonly revision: number; readonly position: Position }
  /** Nothing was written; the stream's last revision is `actual` (`NO_STREAM` where there is no stream). */
  | { readonly kind: 'conflict'; readonly actual: number }
  /** Nothing was written: an event of this stream already carries that request id, at `revision`. */
  | { readonly kind: 'duplicate-request'; readonly requestId: string; readonly revision: number }
  /** Nothing was written: the medium is full. Reads go on; appends succeed again when there is room. */
  | { readonly kind: 'full'; readonly detail: string }
  /** Nothing was written: the store is not taking appends now; `retryAfterMs` is a fair time to ask again. */
  | { readonly kind: 'unavailable'; readonly detail: string; readonly retryAfterMs: number }
  /** It may or may not have been written: read on from the expected revision and compare ids and macs. */
  | { readonly kind: 'unknown'; readonly detail: string }

/** A record with its place. `stream` and `revision` are the store's own columns: a verifier compares them with the header. */
export interface ReadRecord extends StoredRecord {
  readonly position: Position
  readonly stream: string
  readonly revision: number
  /** The store's column for the header's request id, in backends that keep one. */
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
  /** Inclusive; undefined reads to the end as it is when the reader gets there. */
  readonly until?: Position | undefined
  /** Only streams of this tenant (`run-<tenant>.*`, `ledger-<tenant>`, `access-<tenant>.*`). */
  readonly tenant?: string | undefined
  /** One of several who follow the store side by side: what was read for another of them a moment ago need not be read again. */
  readonly isShared?: boolean | undefined
}

/** What failed on the store's own medium. */
export interface StoreFault {
  readonly file: string
  /** `fsync`, `write` and the like: the system call, as far as the driver tells. */
  readonly operation: string
  /** `EIO`, `ENOSPC`. */
  readonly errno: string
  /** The driver's own code, such as `SQLITE_IOERR_FSYNC`. */
  readonly code: string
}

/** A stream of which a server may drop events, or has: by a limit that somebody set on it, or because it was deleted. */
export interface ForgettingStream {
  readonly stream: string
  /** In the server's words: `$maxCount 2`, `deleted for good`. */
  readonly why: string
  /** `deleted`: its events are hidden until that is taken back. `gone`: nothing but a backup brings it back. */
  readonly loss: 'limited' | 'deleted' | 'gone'
}

/** An event that this process was told of as durable, and that the store no longer holds: the store went backwards. */
export interface StoreLoss {
  readonly stream: string
  readonly revision: number
  readonly position: Position
  /** File that keeps the next start from believing the store; absent where nothing outlives the process. */
  readonly note?: string
}

export interface StoreStatus {
  /** `full`: reads go on, appends are refused until there is room. */
  readonly state: 'ready' | 'full' | 'unavailable' | 'failed'
  readonly detail?: string
  readonly fault?: StoreFault
  /** Absent where there is none. Everything else is served on. */
  readonly forgetting?: readonly ForgettingStream[]
  /** Where it went backwards: `failed`, and nothing is read or written any more. */
  readonly loss?: StoreLoss
}

/** Seals notes that lie in the store, under the ledger's keys. */
export interface NoteSeal {
  seal(text: string): string
  /** Undefined where the key that it names is not known. */
  holds(text: string, seal: string): boolean | undefined
}

/** Events that a writer attested, and that do not lie where it put them. */
export interface LostEvents {
  readonly stream: string
  /** Of the first, and where it lay. */
  readonly revision: number
  readonly position: Position
  readonly events: number
}

/** What a store is held to by who knows what it acknowledged. */
export interface HeldTo {
  /** The newest record that is known to be durable. A server without it is none to write to. */
  readonly last: () => { readonly position: Position; readonly id: string } | undefined
  /** To be called where another server, or an older state of it, may answer from now on: false where it lacks that record, or does not say. */
  readonly check: () => Promise<boolean>
}

/** Whether the store's medium is open: reads go on, whether or not it takes appends. */
export function takesReads({ state }: StoreStatus): boolean {
  return state === 'ready' || state === 'full'
}

/** Pages of records, oldest first unless told otherwise. Pages bound memory; their size is the backend's own. */
export type RecordPages = AsyncIterable<readonly ReadRecord[]>

export interface EventStore extends AsyncDisposable {
  /** `sqlite:<path>`, `memory:`, ... : what a person would pass as `--store`. */
  readonly url: string
  /** Most bytes (header + salt + data) one append may hold. */
  readonly maxAppendBytes: number
  /** Bytes of the records that wait to be written. Absent where nothing waits. */
  readonly waitingBytes?: number
  /**
   * Nobody else writes this store while it is open: appends may be handed over that build on others which still wait. Where it is not
   * said, another writer's event may take the place of the one that failed, and the expected revision alone does not tell them apart.
   */
  readonly exclusive?: boolean
  /** Positions are 1, 2, 3 and so on, all of them this ledger's: where one has no record, an event is gone. Absent where gaps say nothing. */
  readonly densePositions?: boolean
  /**
   * All records or none, in one durable write. Appends handed over in order are applied in order, so an append may build on one
   * that is still waiting; when that one fails, those that build on it answer `conflict`. Never retries: the caller owns that choice.
   */
  append(append: Append): Promise<AppendResult>
  /** Last durable revision of a stream, `NO_STREAM` where there is none. Always current: never answered from a stale replica. */
  head(stream: string): Promise<number>
  readStream(stream: string, options?: ReadStreamOptions): RecordPages
  readAll(options?: ReadAllOptions): RecordPages
  /** The record at exactly this position, undefined where there is none. Throws `TypeError` for text that is no position of this store. */
  recordAt(position: Position): Promise<ReadRecord | undefined>
  /** Position of the last durable record, undefined in an empty store. */
  end(): Promise<Position | undefined>
  /** Revision of the stream's event that carries this request id, undefined where none does. */
  findRequest(stream: string, requestId: string): Promise<number | undefined>
  /** The first positions that were given and have no record, at most `limit`; absent where positions are not dense. */
  missingPositions?(limit: number): Promise<readonly Position[]>
  /** Those behind the last record: events were there that nothing follows. Undefined where none is; absent where positions are not dense. */
  missingEnd?(): Promise<PositionRange | undefined>
  /**
   * What writers attested behind `after`, up to `until` or to the end. Calls go on from each other, or begin again from the start. Absent where positions
   * are dense, or where nothing attests them.
   */
  attested?(range: { readonly after?: Position | undefined; readonly until?: Position }): Promise<Attested>
  /**
   * Of streams that had one, those whose first event is not there any more. One that was deleted as a whole is not among them: `status()` names it.
   * Absent where nobody beside this process could take events away.
   */
  lostBeginnings?(streams: readonly string[]): Promise<readonly string[]>
  /** Seals what is attested of the events that are written, and checks it. Called once, before the first append. Absent where nothing is attested. */
  noteWith?(seal: NoteSeal): void
  /** Absent where the file cannot be exchanged without the writer's notice. Called once, before the first append. */
  holdTo?(known: HeldTo): void
  /**
   * Catch-up, then live, until `signal` aborts: pages in store order, and one `'caught-up'` each time the reader has seen
   * everything there was. A slow reader is never buffered for: it reads on from the store at its own pace.
   */
  subscribe(
    options: Omit<ReadAllOptions, 'until'>,
    signal: AbortSignal,
  ): AsyncIterable<readonly ReadRecord[] | 'caught-up'>
  /** Negative, zero or positive, as `Array.prototype.sort` wants it. Throws `TypeError` for text that is no position of this store. */
  comparePositions(a: Position, b: Position): number
  status(): StoreStatus
  /** Called whenever `status()` changes; returns the unsubscriber. */
  onStatus(listener: (status: StoreStatus) => void): () => void
}

/** Thrown by reads while the store reopens its medium, and after its end. Subscriptions wait instead. */
export class StoreUnavailableError extends Error {
  readonly code = 'store-unavailable'
  /** A fair time to ask again. */
  readonly retryAfterMs: number

  constructor(message: string, retryAfterMs: number, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StoreUnavailableError'
    this.retryAfterMs = retryAfterMs
  }
}

/** Thrown by reads once the store was found to lack what it had acknowledged. No waiting mends it; `message` says what to do. */
export class StoreWentBackError extends StoreUnavailableError {
  override readonly name = 'StoreWentBackError'
}

/** Thrown by reads of a stream that the server deleted, or cut: the record of one run, or of one tenant's log, is gone. No waiting mends it. */
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

/** The event at a revision of a stream; undefined where there is none. */
export async function readOne(
  store: Pick<EventStore, 'readStream'>,
  { stream, revision }: { readonly stream: string; readonly revision: number },
): Promise<ReadRecord | undefined> {
  for await (const [record] of store.readStream(stream, { from: revision, to: revision }))
    if (record !== undefined) return record
  return undefined
}

/** Thrown by `open…Store`: `code` is stable, `message` says what to do. Only `store-away` may pass by itself. */
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
  /** Events that are gone, of those that were attested. */
  readonly lost: readonly LostEvents[]
  /** What is wrong with the notes themselves, the first of it, in words: events may be gone that no note names. */
  readonly broken?: string | undefined
  /** Behind which position events are attested, as the store says now, and the first that notes of the stretch say. */
  readonly after?: { readonly now: Position; readonly noted?: Position | undefined } | undefined
}

/** Positions without a record: how many, and the first of them. */
export interface PositionRange {
  readonly first: Position
  readonly events: number
}

/** The half of the port that reads. A record's `stream`, `revision` and `requestId` are the file's columns, for a verifier to compare. */
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
