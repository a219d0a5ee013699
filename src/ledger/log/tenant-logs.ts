/** @module The Merkle logs as HTTP and the command line see them: one log per tenant, limited to what its last checkpoint covers. */
import type { Loss } from '../../../schemas/loss.ts'
import type { StreamPath } from '../../merkle/stream-tree.ts'
import type { TileId } from '../../merkle/tile-path.ts'
import type { Position, RecordPages } from '../../store/event-store.ts'
import type { LogStore } from '../../store/log-store.ts'
import type { LogStopped } from '../ledger-stats.ts'
import type { OnRecord } from './acknowledgements.ts'
import type { LostHere, LostPlace } from './lost-here.ts'

/** The reason why a log cannot answer. */
export type LogRefusalCode =
  /** Nothing was signed yet; the next checkpoint follows within the delay. */
  | 'no-checkpoint'
  /** Nothing was signed and nothing will be: the log stopped at an event that is missing or does not verify. */
  | 'log-stopped'
  /** The file of the logs is being rebuilt from the store: no answer is possible yet. */
  | 'being-made'
  /** There is no such event in the log of this tenant. */
  | 'not-in-log'
  /** The event is in the log, but no checkpoint covers it yet. */
  | 'not-published'
  /** A size or index that the last checkpoint does not cover. */
  | 'beyond-checkpoint'
  /** The rows of leaves name a different event than the tree has there. */
  | 'leaf-damaged'
  /** Decreasing sizes, or an index that is not below the size. */
  | 'not-a-range'
  /** A proof of consistency from the empty tree: RFC 6962 defines none. */
  | 'from-nothing'
  /** No checkpoint that this one continues was time-stamped. */
  | 'no-timestamp'

export type LogAnswer<T> =
  | { readonly ok: true; readonly value: T }
  /** `size`: size of the last checkpoint. */
  | { readonly ok: false; readonly code: LogRefusalCode; readonly size: number }

interface LeafPlace {
  readonly eventId: string
  readonly stream: string
  readonly revision: number
}

/** The path from a leaf to a root. */
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

/** The last time-stamped checkpoint, with a proof that a tree is consistent with it. */
export interface TimestampedCheckpoint {
  readonly size: number
  /** The signed text of the checkpoint, which was time-stamped. */
  readonly text: string
  /** Host of the authority; its own statements are in the token. */
  readonly authority: string
  /** RFC 3339, UTC. */
  readonly time: string
  readonly policy: string
  readonly serial: string
  /** TimeStampResp (RFC 3161), DER. */
  readonly reply: Uint8Array
  /** Size of the tree that `consistency` proves to continue the checkpoint. */
  readonly treeSize: number
  readonly consistency: readonly Uint8Array[]
}

export type LeafQuery = { readonly index: number } | { readonly eventId: string }

export interface LogState {
  /** Number of leaves, published or not. */
  readonly size: number
  readonly published: number
  /** Size that each witness cosigned last, since this process started. */
  readonly witnesses: readonly { readonly name: string; readonly size: number }[]
  /** Code of the fault that stopped the log. */
  readonly stopped?: string
}

/** The tree of the leaves up to a position in the store, signed or not. */
export interface LogTree {
  readonly size: number
  readonly root: Uint8Array
  /** Id of the event of the last leaf; null in an empty tree. */
  readonly eventId: string | null
}

/** The leaves before an index of the log, from which a part of the log continues. */
export interface LogEdge {
  readonly root: Uint8Array
  /** Hashes of the perfect subtrees of these leaves, widest first. */
  readonly hashes: readonly Uint8Array[]
  /** The last of these leaves; undefined if there is none. */
  readonly last: (LeafPlace & { readonly position: Position }) | undefined
}

/** The tree that the last checkpoint covers. */
export interface PublishedTree extends LogTree {
  /** The signed note, with its cosignatures. */
  readonly note: string
  /** Position of the last leaf. */
  readonly position: Position
}

/** The store no longer holds a record that the log has: the store was truncated or restored. */
export class LogGapError extends Error {
  readonly code = 'log-gap'

  constructor(tenant: string, index: number) {
    super(`the store does not hold leaf ${index} of the log ${tenant} any more: run "countersign verify"`)
    this.name = 'LogGapError'
  }
}

export interface KnownHead {
  readonly events: number
  /** Of the last event; undefined if only its place is known. */
  readonly digest: string | undefined
}

export type LossesOfTenant = TenantLogs['losses']

/** The first `size` leaves of a log. */
export interface LogStart {
  readonly tenant: string
  readonly size: number
  /** Leaves whose records are not to be read, because their events are lost. */
  readonly lost?: readonly { readonly index: number }[]
}

export interface TenantLogs {
  /** Maximum time from an append to the checkpoint that covers it, in milliseconds, in a process that keeps up. */
  readonly maxDelayMs: number
  /** C2SP verifier key of the current signing key of the tenant's log. */
  verifierKey(tenant: string): string
  /** Signed notes that lead from each key that signed the logs to its successor, oldest first. */
  successions(): readonly string[]
  state(tenant: string): LogState
  /** Number of leaves up to the last one that is neither a checkpoint nor a time-stamp; a checkpoint is due for these. */
  facts(tenant: string): number
  /** The stop of the log, the losses that it continued past, and losses of the store that no log can name. */
  losses(tenant: string): readonly Loss[]
  /** The losses that are not acknowledged; the log does not continue until they are. */
  openLosses(tenant: string): readonly Loss[]
  /** Whether an event is lost at this moment, and which event it was. */
  lostAt(place: LostPlace): Promise<LostHere>
  /** The places where a stopped log could continue: the first lost event of each stream involved. */
  lostPlaces(tenant: string): Promise<readonly Pick<LostPlace, 'stream' | 'revision'>[]>
  /** Tenants whose log has a signed checkpoint. */
  signed(): readonly string[]
  /** Tenants whose log continued past acknowledged losses, and how many acknowledgements these are. */
  holed(): readonly { readonly tenant: string; readonly losses: number }[]
  /** The recorded acknowledgements of the losses of a tenant. */
  acknowledged(tenant: string): Promise<OnRecord>
  /** All stopped logs. */
  stops(): readonly LogStopped[]
  /** Leaves not covered by a checkpoint yet whose events are missing from the store or differ there; at most `LOSSES_MAX`. */
  lostUncovered(tenant: string): Promise<readonly Loss[]>
  /** What the log knows of a stream: the minimum number of its events, and the digest of the last of them. Undefined if it knows none. */
  knownHead(stream: string): KnownHead | undefined
  /** The current leaves and their hashes, how far the store was followed for them, and the acknowledged losses that the logs continued past. */
  readonly leaves: Pick<LogStore, 'leaf' | 'leafOf' | 'tile' | 'progress' | 'holedLogs'>
  /** The last checkpoint: the signed note, with the cosignatures received so far. */
  checkpoint(tenant: string): LogAnswer<string>
  /** The last time-stamped checkpoint that the tree of `to` leaves continues; `to` defaults to the last checkpoint. */
  timestamp(tenant: string, to?: number): Promise<LogAnswer<TimestampedCheckpoint>>
  /** Hashes of a full or partial tile of the published tree; undefined if the tree does not have it. */
  tile(tenant: string, tile: TileId): Uint8Array | undefined
  /** The entry bundle of a tile of the published tree; undefined if the tree does not have it. */
  entries(tenant: string, tile: TileId): Promise<Uint8Array | undefined>
  /** Inclusion path in the tree of `size` leaves; `size` defaults to the last checkpoint. */
  inclusion(tenant: string, leaf: LeafQuery, size?: number): LogAnswer<InclusionPath>
  /** Like `inclusion`, but the named event is also read from the store and checked against the leaf (LOG-23). */
  checkedInclusion(tenant: string, leaf: LeafQuery, size?: number): Promise<LogAnswer<InclusionProof>>
  /** Consistency proof; `to` defaults to the last checkpoint. */
  consistency(tenant: string, from: number, to?: number): LogAnswer<ConsistencyProof>
  /** Proof file of an event (C2SP tlog-proof) against the last checkpoint. */
  proofFile(tenant: string, eventId: string): LogAnswer<string>
  /** Follows the store as far as needed; undefined if the log stopped before that position. */
  treeAt(tenant: string, position: Position): Promise<LogTree | undefined>
  /** The first `size` leaves, published or not. Throws `RangeError` if there are fewer. */
  edgeAt(tenant: string, size: number): LogEdge
  /** Undefined before the first checkpoint. */
  published(tenant: string): PublishedTree | undefined
  /** Index of the leaf of an event, published or not; undefined if it has none yet. */
  leafIndex(tenant: string, eventId: string): number | undefined
  /** The records of the first `size` leaves, in leaf order, as the store holds them now. Throws `LogGapError` if one is missing. */
  leafRecords(start: LogStart): RecordPages
  /** Proves the exact number of events of a stream up to that checkpoint; undefined if the checkpoint names no tree of streams, or is not the last one. */
  streamPath(
    tenant: string,
    stream: string,
    tree: Pick<PublishedTree, 'size' | 'note'>,
  ): Promise<StreamPath | undefined>
  /** Follows the store up to its current end. */
  catchUp(): Promise<void>
  /** Follows the store up to its current end, and signs every log that is due. */
  publish(): Promise<void>
}
