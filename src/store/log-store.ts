/**
 * @module The log port: what the Merkle logs keep beside the event store, in one local file. Losing it loses nothing: it is made
 * again from the event store, and nothing in it is signed before the stored events were read again.
 */
import type { DerivedFile } from './derived-file.ts'
import type { Position, PositionRange } from './event-store.ts'

/** Where a tenant's log ended because a record did not verify. */
export interface LogStop {
  readonly position: Position
  readonly stream: string
  readonly revision: number
  readonly code: string
  /** Of the record that was judged, its texts together; absent where there is none in its place. */
  readonly digest?: string
  /** Index of the leaf whose event is gone. */
  readonly lostLeaf?: number
}

/** An event that is lost for good, by an acknowledgement in the log. */
export interface LogHole {
  readonly stream: string
  readonly revision: number
}

/** A time-stamped checkpoint on record. */
export interface LogStamp {
  /** Of the checkpoint. */
  readonly size: number
  /** Index of the event that holds the token. */
  readonly leaf: number
  /** When that was recorded. */
  readonly time: string
}

/** One tenant's log. */
export interface LogRow {
  readonly tenant: string
  readonly size: number
  /** Index of the last leaf that is neither CheckpointSigned nor CheckpointTimestamped; -1 before the first. */
  readonly lastFactIndex: number
  /** Size of the last checkpoint on record; 0 before the first. */
  readonly signedSize: number
  /** Its signed note. */
  readonly note?: string
  /** Its last time-stamped checkpoint. */
  readonly stamp?: LogStamp
  readonly stopped?: LogStop
  /** The first of each acknowledgement; the log goes on past them. */
  readonly holes?: readonly LogHole[]
}

/** What the verified events of a stream say about its next one. */
export interface LogStreamRow {
  readonly stream: string
  readonly nextRevision: number
  readonly prevDigest?: string
  readonly prevTime?: string
  readonly minRingIndex: number
  /** Its revision 0 did not verify: none of its events is a leaf. */
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

/** What the first leaves of a log hold of one stream: key, count and digest of `src/merkle/stream-tree.ts`. */
export interface StreamHeadRow {
  readonly key: Uint8Array
  readonly events: number
  readonly digest: Uint8Array
}

export interface StreamHeads {
  readonly tenant: string
  /** So many leaves these heads are of. */
  readonly size: number
  /** Those that changed since the size before. */
  readonly heads: readonly StreamHeadRow[]
}

/** The last record that the projection has seen, leaf or not. */
export interface LogProgress {
  readonly position: Position
  readonly stream: string
  readonly revision: number
  /** Digest of its header text as it was read. */
  readonly digest: string
  /** Positions up to there that have no record, and that no stream accounts for. */
  readonly gap?: PositionRange
  /** What is known of the notes of a store's writers; absent where none were seen. */
  readonly notes?: KnownNotes
}

export interface KnownNotes {
  /** Behind which position they attest events, the earliest that was said. */
  readonly after?: Position
  /** What is wrong with them, the first of it, in words. */
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
  /** Whether logs, streams and progress are what this ledger wrote. Reads all of them where that is not known. */
  isAuthentic(): Promise<boolean>
  progress(): LogProgress | undefined
  log(tenant: string): LogRow | undefined
  /** Logs with a leaf, other than checkpoints and their time-stamps, beyond their last checkpoint; none that stopped. */
  dueLogs(): readonly LogRow[]
  /** Logs whose heads are of fewer leaves than their last checkpoint. */
  logsBehindHeads(): readonly LogRow[]
  stoppedLogs(): readonly LogRow[]
  /** Logs that went on past a loss that was acknowledged. */
  holedLogs(): readonly LogRow[]
  /** All of them. */
  logs(): readonly LogRow[]
  /** Tenants whose log has a signed checkpoint. */
  signedTenants(): readonly string[]
  stream(stream: string): LogStreamRow | undefined
  leaf(tenant: string, index: number): LeafRow | undefined
  leafOf(tenant: string, eventId: string): LeafRow | undefined
  /** From `from` up to, not including, `to`. */
  leaves(tenant: string, from: number, to: number): readonly LeafRow[]
  /** Where their events stand, in the same order, for whoever goes through a log: a third of the time. */
  leafPlaces(tenant: string, from: number, to: number): readonly LeafPlace[]
  tile(tenant: string, level: number, index: number): Uint8Array | undefined
  /** How many leaves the heads of a log's streams are of; 0 before the first. */
  headsSize(tenant: string): number
  head(tenant: string, key: Uint8Array): StreamHeadRow | undefined
  /** Those whose keys are at least `from` and below `below`, by key; at most `limit`. */
  heads(tenant: string, from: Uint8Array, below: Uint8Array | undefined, limit: number): readonly StreamHeadRow[]
  /** In one transaction; false, and nothing, where the heads are no longer of `from` leaves. */
  saveHeads(heads: StreamHeads, from: number): boolean
  /** Drops the heads of a log: they are made again from its first leaf. */
  dropHeads(tenant: string): void
  /** All of it and the new progress in one transaction; false, and nothing, where `from` is no longer the progress. */
  save(batch: LogBatch, from: Position | undefined): boolean
}

/** Leaves and tiles alone, for whoever reads beside the one who writes them. */
export type LeafReader = Pick<LogStore, 'leaf' | 'leaves' | 'leafPlaces' | 'leafOf' | 'tile'> & Disposable
