/**
 * @module The log port: the data that the Merkle logs keep next to the event store, in one local file. The file can be lost without loss of data: it is
 * rebuilt from the event store, and nothing in it is signed before the stored events have been read again.
 */
import type { DerivedFile } from './derived-file.ts'
import type { Position, PositionRange } from './event-store.ts'

/** Where a tenant's log stopped because a record did not verify. */
export interface LogStop {
  readonly position: Position
  readonly stream: string
  readonly revision: number
  readonly code: string
  /** Digest over all texts of the record that failed; absent if there is no record at that position. */
  readonly digest?: string
  /** Index of the leaf whose event is gone. */
  readonly lostLeaf?: number
}

/** An event that is lost for good; an acknowledgement of the loss is recorded in the log. */
export interface LogHole {
  readonly stream: string
  readonly revision: number
  /** The last event of the same acknowledgement; absent in files of earlier builds. */
  readonly to?: number
}

/** A time-stamped checkpoint that is recorded in the log. */
export interface LogStamp {
  /** Size of the checkpoint. */
  readonly size: number
  /** Index of the event that holds the token. */
  readonly leaf: number
  /** When the time-stamp was recorded. */
  readonly time: string
}

/** One tenant's log. */
export interface LogRow {
  readonly tenant: string
  readonly size: number
  /** Index of the last leaf that is neither CheckpointSigned nor CheckpointTimestamped; -1 before the first. */
  readonly lastFactIndex: number
  /** Size of the last recorded checkpoint; 0 before the first. */
  readonly signedSize: number
  /** Signed note of that checkpoint. */
  readonly note?: string
  /** The last time-stamped checkpoint of the log. */
  readonly stamp?: LogStamp
  readonly stopped?: LogStop
  /** The events of each acknowledgement; the log continues after these holes. */
  readonly holes?: readonly LogHole[]
}

/** State derived from the verified events of a stream, needed to check its next event. */
export interface LogStreamRow {
  readonly stream: string
  readonly nextRevision: number
  /** Number of events that the stream had, if that is more than `nextRevision`: its log stopped before the others. */
  readonly attested?: number
  readonly prevDigest?: string
  readonly prevTime?: string
  readonly minRingIndex: number
  /** The event at revision 0 did not verify: no event of this stream is a leaf. */
  readonly foreign: boolean
}

export interface LeafRow {
  readonly tenant: string
  readonly index: number
  readonly stream: string
  readonly revision: number
  readonly position: Position
  readonly eventId: string
}

export type LeafPlace = readonly [index: number, stream: string, revision: number]

export interface TileRow {
  readonly tenant: string
  readonly level: number
  readonly index: number
  /** 32 bytes each; fewer than 256 in the last tile of a level. */
  readonly hashes: Uint8Array
}

/** Summary of one stream within the first leaves of a log: key, count and digest as defined in `src/merkle/stream-tree.ts`. */
export interface StreamHeadRow {
  readonly key: Uint8Array
  readonly events: number
  readonly digest: Uint8Array
}

export interface StreamHeads {
  readonly tenant: string
  /** Number of leaves that these heads cover. */
  readonly size: number
  /** The heads that changed since the previous size. */
  readonly heads: readonly StreamHeadRow[]
}

/** The last record that the projection has read, whether or not it is a leaf. */
export interface LogProgress {
  readonly position: Position
  readonly stream: string
  readonly revision: number
  /** Digest of the record's header text as it was read. */
  readonly digest: string
  /** Positions up to this record that have no record and that no stream accounts for. */
  readonly gap?: PositionRange
  /** What is known about the notes of the store's writers; absent if no note was seen. */
  readonly notes?: KnownNotes
}

export interface KnownNotes {
  /** The earliest position after which, according to the notes, events are attested. */
  readonly after?: Position
  /** The first fault found in the notes, in words. */
  readonly broken?: string
}

export interface LogBatch {
  readonly logs: readonly LogRow[]
  readonly streams: readonly LogStreamRow[]
  readonly leaves: readonly LeafRow[]
  readonly tiles: readonly TileRow[]
  readonly progress: LogProgress
}

export interface LogStore extends DerivedFile {
  /** Whether logs, streams and progress are as this ledger wrote them. Reads all of these rows if that is not known yet. */
  isAuthentic(): Promise<boolean>
  progress(): LogProgress | undefined
  log(tenant: string): LogRow | undefined
  /** Logs with at least one leaf after their last checkpoint that is neither a checkpoint nor a time-stamp; stopped logs are excluded. */
  dueLogs(): readonly LogRow[]
  /** Logs whose stream heads cover fewer leaves than their last checkpoint. */
  logsBehindHeads(): readonly LogRow[]
  stoppedLogs(): readonly LogRow[]
  /** Logs that continued after an acknowledged loss. */
  holedLogs(): readonly LogRow[]
  /** All logs. */
  logs(): readonly LogRow[]
  /** Tenants whose log has a signed checkpoint. */
  signedTenants(): readonly string[]
  stream(stream: string): LogStreamRow | undefined
  /** Streams with `attested`, and its value. */
  attestedEnds(): readonly (readonly [stream: string, events: number])[]
  leaf(tenant: string, index: number): LeafRow | undefined
  leafOf(tenant: string, eventId: string): LeafRow | undefined
  /** Leaves from `from` up to, but not including, `to`. */
  leaves(tenant: string, from: number, to: number): readonly LeafRow[]
  /** The places of the leaves' events, in the same order as `leaves`, for a scan over a log: takes a third of the time. */
  leafPlaces(tenant: string, from: number, to: number): readonly LeafPlace[]
  tile(tenant: string, level: number, index: number): Uint8Array | undefined
  /** How many leaves the stream heads of a log cover; 0 before the first heads. */
  headsSize(tenant: string): number
  head(tenant: string, key: Uint8Array): StreamHeadRow | undefined
  /** Heads whose keys are at least `from` and below `below`, ordered by key; at most `limit`. */
  heads(tenant: string, from: Uint8Array, below: Uint8Array | undefined, limit: number): readonly StreamHeadRow[]
  /** Saves in one transaction; saves nothing and returns false if the stored heads no longer cover exactly `from` leaves. */
  saveHeads(heads: StreamHeads, from: number): boolean
  /** Drops the stream heads of a log: they are rebuilt from its first leaf. */
  dropHeads(tenant: string): void
  /** Saves the batch and the new progress in one transaction; saves nothing and returns false if `from` is no longer the current progress. */
  save(batch: LogBatch, from: Position | undefined): boolean
}

/** Leaves and tiles only, for a reader that runs concurrently with the writer of the file. */
export type LeafReader = Pick<LogStore, 'leaf' | 'leaves' | 'leafPlaces' | 'leafOf' | 'tile'> & Disposable
