/** @module The Merkle logs as HTTP and the command line see them: one a tenant, of what its last checkpoint covers and no more. */
import type { Loss } from '../../../schemas/loss.ts'
import type { StreamPath } from '../../merkle/stream-tree.ts'
import type { TileId } from '../../merkle/tile-path.ts'
import type { Position, RecordPages } from '../../store/event-store.ts'
import type { LeafReader } from '../../store/log-store.ts'
import type { LogStopped } from '../ledger-stats.ts'
import type { OnRecord } from './acknowledgements.ts'
import type { LostHere, LostPlace } from './lost-here.ts'

/** Why a log has no answer. */
export type LogRefusalCode =
  /** Nothing was signed yet; the next checkpoint comes within the delay. */
  | 'no-checkpoint'
  /** Nothing was signed, and nothing will be: the log stopped at an event that does not verify, or is gone. */
  | 'log-stopped'
  /** The file of the logs is being made anew from the store: nothing can be said yet. */
  | 'being-made'
  /** There is no such event in this tenant's log. */
  | 'not-in-log'
  /** It is in the log, and no checkpoint covers it yet. */
  | 'not-published'
  /** A size or index that the last checkpoint does not cover. */
  | 'beyond-checkpoint'
  /** The rows of leaves name another event than the tree has there. */
  | 'leaf-damaged'
  /** Sizes that fall, or an index that is not below the size. */
  | 'not-a-range'
  /** A proof of consistency from the empty tree: RFC 6962 defines none. */
  | 'from-nothing'
  /** No checkpoint that this one continues was time-stamped. */
  | 'no-timestamp'

export type LogAnswer<T> =
  | { readonly ok: true; readonly value: T }
  /** `size`: that of the last checkpoint. */
  | { readonly ok: false; readonly code: LogRefusalCode; readonly size: number }

interface LeafPlace {
  readonly eventId: string
  readonly stream: string
  readonly revision: number
}

/** What leads from a leaf to a root. */
export interface InclusionPath extends LeafPlace {
  readonly index: number
  readonly size: number
  readonly leaf: Uint8Array
  readonly proof: readonly Uint8Array[]
}

export interface InclusionProof extends InclusionPath {
  readonly root: Uint8Array
}

export interface ConsistencyProof {
  readonly from: number
  readonly fromRoot: Uint8Array
  readonly to: number
  readonly toRoot: Uint8Array
  readonly proof: readonly Uint8Array[]
}

/** The last time-stamped checkpoint, and that a tree continues it. */
export interface TimestampedCheckpoint {
  readonly size: number
  /** The signed text of the checkpoint: what was time-stamped. */
  readonly text: string
  /** Host of the authority; what it says is in the token. */
  readonly authority: string
  /** RFC 3339, UTC. */
  readonly time: string
  readonly policy: string
  readonly serial: string
  /** TimeStampResp (RFC 3161), DER. */
  readonly reply: Uint8Array
  /** The tree that continues it, by this proof. */
  readonly treeSize: number
  readonly consistency: readonly Uint8Array[]
}

export type LeafQuery = { readonly index: number } | { readonly eventId: string }

export interface LogState {
  /** Leaves, published or not. */
  readonly size: number
  readonly published: number
  /** Size that each witness cosigned last, since this process started. */
  readonly witnesses: readonly { readonly name: string; readonly size: number }[]
  /** Code of the fault that ended the log. */
  readonly stopped?: string
}

/** The tree of the leaves up to a place in the store, signed or not. */
export interface LogTree {
  readonly size: number
  readonly root: Uint8Array
  /** Id of the last leaf's event; null in an empty tree. */
  readonly eventId: string | null
}

/** The leaves before a place of the log: what a part of it goes on from. */
export interface LogEdge {
  readonly root: Uint8Array
  /** Hashes of the perfect subtrees that these leaves make, widest first. */
  readonly hashes: readonly Uint8Array[]
  /** The last of them; undefined where there is none. */
  readonly last: (LeafPlace & { readonly position: Position }) | undefined
}

/** What the last checkpoint covers. */
export interface PublishedTree extends LogTree {
  /** The signed note, with its cosignatures. */
  readonly note: string
  /** Position of the last leaf. */
  readonly position: Position
}

/** The store no longer holds a record that the log has: it was cut or restored. */
export class LogGapError extends Error {
  readonly code = 'log-gap'

  constructor(tenant: string, index: number) {
    super(`the store does not hold leaf ${index} of the log ${tenant} any more: run "countersign verify"`)
    this.name = 'LogGapError'
  }
}

export interface KnownHead {
  readonly events: number
  readonly digest: string | undefined
}

export type LossesOfTenant = TenantLogs['losses']

export interface TenantLogs {
  /** Longest time from an append to the checkpoint that covers it, in a process that keeps up. */
  readonly maxDelayMs: number
  /** C2SP verifier key of the tenant's log, of the key that signs now. */
  verifierKey(tenant: string): string
  /** Signed notes that lead from each key that signed the logs to the one after it, oldest first. */
  successions(): readonly string[]
  state(tenant: string): LogState
  /** Leaves up to the last one that is neither a checkpoint nor its time-stamp: what a checkpoint is due for. */
  facts(tenant: string): number
  /** Where the log stopped, what it went past, and whether events of the store are gone that no log can name. */
  losses(tenant: string): readonly Loss[]
  /** Those of them that nobody has acknowledged: the log does not go on. */
  openLosses(tenant: string): readonly Loss[]
  /** Whether an event is lost at this moment, and which one it was. */
  lostAt(place: LostPlace): Promise<LostHere>
  /** Where a log that stopped could go on: the first lost event of each stream that it stopped for. */
  lostPlaces(tenant: string): readonly Pick<LostPlace, 'stream' | 'revision'>[]
  /** Tenants whose log went on past a loss that was acknowledged. */
  holed(): readonly string[]
  /** The losses of a tenant that are acknowledged on record. */
  acknowledged(tenant: string): Promise<OnRecord>
  /** All logs that stopped. */
  stops(): readonly LogStopped[]
  /** Leaves that no checkpoint covers yet, and whose events the store holds no more, or holds otherwise; the first twenty. */
  lostUncovered(tenant: string): Promise<readonly Loss[]>
  /** What the log knows of a stream: how many events it has at least, and the digest of the last of them. Undefined where it knows none. */
  knownHead(stream: string): KnownHead | undefined
  /** Leaves and their hashes, as they are now. */
  readonly leaves: Pick<LeafReader, 'leaf' | 'leafOf' | 'tile'>
  /** The last checkpoint: the signed note, with the cosignatures that are there. */
  checkpoint(tenant: string): LogAnswer<string>
  /** The last time-stamped checkpoint that the tree of `to` leaves continues; of the last checkpoint, where no `to` is given. */
  timestamp(tenant: string, to?: number): Promise<LogAnswer<TimestampedCheckpoint>>
  /** Hashes of a tile, full or partial, of the published tree; undefined where it has none. */
  tile(tenant: string, tile: TileId): Uint8Array | undefined
  /** The entries of a bundle of the published tree; undefined where it has none. */
  entries(tenant: string, tile: TileId): Promise<Uint8Array | undefined>
  /** In the tree of `size` leaves; of the last checkpoint, where none is given. */
  inclusion(tenant: string, leaf: LeafQuery, size?: number): LogAnswer<InclusionPath>
  /** The same, with the event that it names read from the store and checked against the leaf (LOG-23). */
  checkedInclusion(tenant: string, leaf: LeafQuery, size?: number): Promise<LogAnswer<InclusionProof>>
  /** Up to the last checkpoint, where no `to` is given. */
  consistency(tenant: string, from: number, to?: number): LogAnswer<ConsistencyProof>
  /** An event's proof file (C2SP tlog-proof) against the last checkpoint. */
  proofFile(tenant: string, eventId: string): LogAnswer<string>
  /** Follows the store as far as needed; undefined where the log stopped before that position. */
  treeAt(tenant: string, position: Position): Promise<LogTree | undefined>
  /** The first `size` leaves, published or not. Throws `RangeError` where there are fewer. */
  edgeAt(tenant: string, size: number): LogEdge
  /** Undefined before the first checkpoint. */
  published(tenant: string): PublishedTree | undefined
  /** Index of an event's leaf, published or not; undefined where it has none yet. */
  leafIndex(tenant: string, eventId: string): number | undefined
  /** The records of the first `size` leaves, in their order, as the store holds them now. Throws `LogGapError` where one is gone. */
  leafRecords(tenant: string, size: number): RecordPages
  /** Shows that a stream has exactly so many events up to that checkpoint; undefined where it names no tree of streams, or is not the last one. */
  streamPath(
    tenant: string,
    stream: string,
    tree: Pick<PublishedTree, 'size' | 'note'>,
  ): Promise<StreamPath | undefined>
  /** Follows the store to where it is now. */
  catchUp(): Promise<void>
  /** Follows the store to where it is now, and signs every log that is due. */
  publish(): Promise<void>
}
