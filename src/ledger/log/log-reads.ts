/** @module The answers of a log: tiles, entries and proofs of the published tree. */

import { EVENTS, type EventBody } from '../../../schemas/events.ts'
import { isJsonObject, parseJsonOrUndefined } from '../../../schemas/json.ts'
import { LOSSES_MAX, type Loss } from '../../../schemas/loss.ts'
import { parseCheckpoint } from '../../merkle/checkpoint.ts'
import { proveConsistency } from '../../merkle/consistency.ts'
import { formatEntryBundle } from '../../merkle/entry-bundle.ts'
import { emptyRoot, HASH_BYTES, leafHash, sameHash } from '../../merkle/hashes.ts'
import { proveInclusion } from '../../merkle/inclusion.ts'
import { type StreamPath, streamsRoot } from '../../merkle/stream-tree.ts'
import { perfectSubtrees } from '../../merkle/subtrees.ts'
import { TILE_WIDTH, type TileId, tileWidth } from '../../merkle/tile-path.ts'
import { formatTlogProof } from '../../merkle/tlog-proof.ts'
import { type Position, readOne } from '../../store/event-store.ts'
import type { LeafRow } from '../../store/log-store.ts'
import type { LogIndexing } from '../indexing.ts'
import type { LogStopped } from '../ledger-stats.ts'
import { leafHashAt } from './leaf-hash.ts'
import { leavesUpTo } from './leaf-places.ts'
import { leafRecords } from './leaf-records.ts'
import type { LogDeps } from './log-deps.ts'
import { headKnownBy, holeLosses, lossesOfStore, stopLoss } from './log-losses.ts'
import type { LogProjection } from './log-projection.ts'
import { lostHere, lostPlaces } from './lost-here.ts'
import { readCheckpoint } from './read-checkpoint.ts'
import type {
  ConsistencyProof,
  InclusionPath,
  InclusionProof,
  LeafQuery,
  LogAnswer,
  LogEdge,
  LogRefusalCode,
  LogState,
  LogTree,
  PublishedTree,
  TenantLogs,
  TimestampedCheckpoint,
} from './tenant-logs.ts'
import type { TenantTree } from './tenant-tree.ts'
import type { WitnessPosts } from './witness-posts.ts'

type Reads = Omit<TenantLogs, 'publish' | 'maxDelayMs'>
type OwnReads = Omit<
  Reads,
  | 'holed'
  | 'signed'
  | 'acknowledged'
  | 'lostAt'
  | 'lostPlaces'
  | 'facts'
  | 'catchUp'
  | 'stops'
  | 'successions'
  | 'leafRecords'
  | 'knownHead'
  | 'leaves'
>

interface ReadsParts {
  readonly projection: LogProjection
  readonly posts: WitnessPosts
  readonly indexing: LogIndexing
  /** Whether the file was rebuilt and has not reached the end of the store yet. */
  readonly isBeingMade: () => boolean
}

/** The methods are listed one by one because methods of a class are lost when an object is spread. */
export function logReads(deps: LogDeps, parts: ReadsParts): Reads {
  const reads = new LogReads(deps, parts)
  return {
    verifierKey: (tenant) => reads.verifierKey(tenant),
    successions: () => deps.logKeys.successions,
    state: (tenant) => reads.state(tenant),
    facts: (tenant) => parts.projection.tree(tenant).lastFactIndex + 1,
    losses: (tenant) => reads.losses(tenant),
    openLosses: (tenant) => reads.openLosses(tenant),
    lostAt: (place) => lostHere(deps, place),
    lostPlaces: (tenant) => lostPlaces(deps, tenant),
    holed: () => deps.logStore.holedLogs().map(({ tenant, holes = [] }) => ({ tenant, losses: holes.length })),
    signed: () => deps.logStore.signedTenants(),
    acknowledged: (tenant) => parts.projection.acknowledged(tenant),
    stops: () => stopsOf(deps.logStore),
    catchUp: () => parts.indexing.catchUp(),
    lostUncovered: (tenant) => reads.lostUncovered(tenant),
    knownHead: (stream) => headKnownBy(deps.logStore.stream(stream)),
    leaves: deps.logStore,
    checkpoint: (tenant) => reads.checkpoint(tenant),
    timestamp: (tenant, to) => reads.timestamp(tenant, to),
    tile: (tenant, tile) => reads.tile(tenant, tile),
    entries: (tenant, tile) => reads.entries(tenant, tile),
    inclusion: (tenant, leaf, size) => reads.inclusion(tenant, leaf, size),
    checkedInclusion: (tenant, leaf, size) => reads.checkedInclusion(tenant, leaf, size),
    consistency: (tenant, from, to) => reads.consistency(tenant, from, to),
    proofFile: (tenant, eventId) => reads.proofFile(tenant, eventId),
    treeAt: (tenant, position) => reads.treeAt(tenant, position),
    edgeAt: (tenant, size) => reads.edgeAt(tenant, size),
    published: (tenant) => reads.published(tenant),
    leafRecords: (start) => leafRecords({ store: deps.store, leaves: deps.logStore }, start),
    leafIndex: (...leaf) => reads.leafIndex(...leaf),
    streamPath: (...asked) => reads.streamPath(...asked),
  }
}

class LogReads implements OwnReads {
  readonly #deps: LogDeps
  readonly #projection: LogProjection
  readonly #posts: WitnessPosts
  readonly #indexing: LogIndexing
  readonly #isBeingMade: () => boolean

  constructor(deps: LogDeps, { projection, posts, indexing, isBeingMade }: ReadsParts) {
    this.#deps = deps
    this.#projection = projection
    this.#posts = posts
    this.#indexing = indexing
    this.#isBeingMade = isBeingMade
  }

  verifierKey(tenant: string): string {
    return this.#deps.logKeys.signing(this.#projection.logName(tenant)).text
  }

  state(tenant: string): LogState {
    const { size, signedSize: published, stopped } = this.#projection.tree(tenant)
    return { size, published, witnesses: this.#posts.sizes(tenant), ...(stopped && { stopped: stopped.code }) }
  }

  /** The losses of the store come first, because their scope is wider. */
  losses(tenant: string): readonly Loss[] {
    return [...this.openLosses(tenant), ...holeLosses(this.#projection.tree(tenant).holes, LOSSES_MAX)]
  }

  openLosses(tenant: string): readonly Loss[] {
    const { stopped } = this.#projection.tree(tenant)
    return [...this.#projection.lossesOfStore, ...(stopped === undefined ? [] : [stopLoss(tenant, stopped)])]
  }

  async lostUncovered(tenant: string): Promise<readonly Loss[]> {
    const { store, logStore } = this.#deps
    const { size, signedSize } = this.#projection.tree(tenant)
    const losses: Loss[] = []
    for (const leaf of logStore.leaves(tenant, signedSize, Math.min(size, signedSize + UNCOVERED_MAX))) {
      const { stream, revision, position } = leaf
      const found = await store.recordAt(position)
      const record = found?.stream === stream && found.revision === revision ? found : undefined
      const hash = leafHashAt(logStore, leaf)
      const exists = record !== undefined && hash !== undefined && sameHash(leafHash(record.header), hash)
      if (!exists && losses.length < LOSSES_MAX)
        losses.push({ scope: 'run', code: record === undefined ? 'missing' : 'leaf', stream, revision })
    }
    return losses
  }

  checkpoint(tenant: string): LogAnswer<string> {
    const { signedSize } = this.#projection.tree(tenant)
    const note = this.#posts.cosigned(tenant)
    if (note !== undefined) return { ok: true, value: note }
    return this.#refusedWithout('no-checkpoint', tenant, signedSize)
  }

  /** An item that is not found may not exist, or may not be indexed yet. */
  #refusedWithout(
    code: LogRefusalCode,
    tenant: string,
    size: number,
  ): { ok: false; code: LogRefusalCode; size: number } {
    if (this.#isBeingMade()) return refused('being-made', size)
    return refused(this.openLosses(tenant).length > 0 ? 'log-stopped' : code, size)
  }

  async timestamp(tenant: string, to?: number): Promise<LogAnswer<TimestampedCheckpoint>> {
    const tree = this.#projection.tree(tenant)
    const { stamp, signedSize: published } = tree
    if (published === 0) return this.#refusedWithout('no-checkpoint', tenant, published)
    if (to !== undefined && to > published) return refused('beyond-checkpoint', published)
    const treeSize = to ?? published
    const body = stamp === undefined ? undefined : await this.#stampAt(tenant, stamp.leaf)
    const checkpoint = body === undefined ? undefined : parseCheckpoint(body.text)
    if (body === undefined || checkpoint === undefined || checkpoint.size > treeSize)
      return refused('no-timestamp', published)
    const { size } = checkpoint
    // Anyone with a sealing key can have recorded any text.
    if (!sameHash(rootOf(tree, size), checkpoint.root)) return refused('no-timestamp', published)
    const { text, authority, time, policy, serial } = body
    const reply = Buffer.from(body.reply, 'base64')
    const consistency = proveConsistency(size, treeSize, tree.read)
    return { ok: true, value: { size, text, authority, time, policy, serial, reply, treeSize, consistency } }
  }

  async #stampAt(tenant: string, index: number): Promise<EventBody<'CheckpointTimestamped'> | undefined> {
    const leaf = this.#deps.logStore.leaf(tenant, index)
    const record = leaf && (await readOne(this.#deps.store, leaf))
    return EVENTS.CheckpointTimestamped.schema.safeParse(parseJsonOrUndefined(record?.data ?? '')).data
  }

  tile(tenant: string, { level, index, width }: TileId): Uint8Array | undefined {
    const published = this.#projection.tree(tenant).signedSize
    if (level === 'entries' || width > tileWidth(level, index, published)) return undefined
    const hashes = this.#deps.logStore.tile(tenant, level, index)
    const bytes = width * HASH_BYTES
    return hashes === undefined || hashes.length < bytes ? undefined : hashes.subarray(0, bytes)
  }

  async entries(tenant: string, { index, width }: TileId): Promise<Uint8Array | undefined> {
    const published = this.#projection.tree(tenant).signedSize
    if (width > tileWidth(0, index, published)) return undefined
    const from = index * TILE_WIDTH
    const leaves = this.#deps.logStore.leaves(tenant, from, from + width)
    const headers = await this.#headers(leaves)
    return headers === undefined ? undefined : formatEntryBundle(headers)
  }

  inclusion(tenant: string, leaf: LeafQuery, size?: number): LogAnswer<InclusionPath> {
    const tree = this.#projection.tree(tenant)
    const published = tree.signedSize
    if (published === 0) return refused('no-checkpoint', published)
    if (size !== undefined && size > published) return refused('beyond-checkpoint', published)
    const row = this.#find(tenant, leaf)
    if (row === undefined) {
      if (!('index' in leaf)) return this.#refusedWithout('not-in-log', tenant, published)
      return refused(leaf.index < published ? 'leaf-damaged' : 'beyond-checkpoint', published)
    }
    if (row.index >= published) return refused('not-published', published)
    if (size !== undefined && row.index >= size) return refused('not-a-range', published)
    return { ok: true, value: inclusionPath(tree, row, size ?? published) }
  }

  async checkedInclusion(tenant: string, leaf: LeafQuery, size?: number): Promise<LogAnswer<InclusionProof>> {
    const found = this.inclusion(tenant, leaf, size)
    if (!found.ok) return found
    const record = await readOne(this.#deps.store, found.value)
    const header = parseJsonOrUndefined(record?.header ?? '')
    const isNamed = isJsonObject(header) && header.id === found.value.eventId
    const isLeaf = record !== undefined && sameHash(leafHash(record.header), found.value.leaf)
    const tree = this.#projection.tree(tenant)
    if (!isNamed || !isLeaf) return refused('leaf-damaged', tree.signedSize)
    return { ok: true, value: { ...found.value, root: tree.rootAt(found.value.size) } }
  }

  consistency(tenant: string, from: number, to?: number): LogAnswer<ConsistencyProof> {
    const tree = this.#projection.tree(tenant)
    const published = tree.signedSize
    if (from === 0) return refused('from-nothing', published)
    if (published === 0) return refused('no-checkpoint', published)
    const end = to ?? published
    if (from > published || end > published) return refused('beyond-checkpoint', published)
    if (from > end) return refused('not-a-range', published)
    const proof = proveConsistency(from, end, tree.read)
    return { ok: true, value: { from, fromRoot: rootOf(tree, from), to: end, toRoot: rootOf(tree, end), proof } }
  }

  proofFile(tenant: string, eventId: string): LogAnswer<string> {
    const note = this.#posts.cosigned(tenant)
    const found = this.inclusion(tenant, { eventId })
    if (!found.ok) return found
    if (note === undefined) return refused('no-checkpoint', 0)
    const { index, proof } = found.value
    return { ok: true, value: formatTlogProof({ index, hashes: proof, checkpoint: note }) }
  }

  async treeAt(tenant: string, position: Position): Promise<LogTree | undefined> {
    await this.#indexing.catchUp()
    const tree = this.#projection.tree(tenant)
    const { store, logStore } = this.#deps
    const places = { leaves: logStore, comparePositions: store.comparePositions.bind(store) }
    const size = leavesUpTo(places, tree, position)
    if (tree.stopped !== undefined && size === tree.size) return undefined
    const eventId = logStore.leaf(tenant, size - 1)?.eventId ?? null
    return { size, root: rootOf(tree, size), eventId }
  }

  edgeAt(tenant: string, size: number): LogEdge {
    const tree = this.#projection.tree(tenant)
    const last = this.#deps.logStore.leaf(tenant, size - 1)
    if (size > tree.size || (size > 0 && last === undefined))
      throw new RangeError(`the log ${tenant} lacks leaf ${size - 1}`)
    return { root: rootOf(tree, size), hashes: perfectSubtrees({ begin: 0, end: size }).map(tree.read), last }
  }

  published(tenant: string): PublishedTree | undefined {
    const tree = this.#projection.tree(tenant)
    const note = this.#posts.cosigned(tenant)
    const last = this.#deps.logStore.leaf(tenant, tree.signedSize - 1)
    if (note === undefined || last === undefined) return undefined
    const { position, eventId } = last
    return { size: tree.signedSize, root: rootOf(tree, tree.signedSize), note, position, eventId }
  }

  async streamPath(
    tenant: string,
    stream: string,
    { size, note }: Pick<PublishedTree, 'size' | 'note'>,
  ): Promise<StreamPath | undefined> {
    const checkpoint = readCheckpoint(note, this.#projection.verifiers(tenant))
    const root = checkpoint && streamsRoot(checkpoint.extensions)
    return root === undefined ? undefined : this.#indexing.streamPath(tenant, stream, size, root)
  }

  leafIndex(tenant: string, eventId: string): number | undefined {
    return this.#deps.logStore.leafOf(tenant, eventId)?.index
  }

  #find(tenant: string, leaf: LeafQuery): LeafRow | undefined {
    const { logStore } = this.#deps
    return 'index' in leaf ? logStore.leaf(tenant, leaf.index) : logStore.leafOf(tenant, leaf.eventId)
  }

  /** Header texts in the order of the leaves. Neighbouring leaves of one stream are read as one range. Undefined if one is missing. */
  async #headers(leaves: readonly LeafRow[]): Promise<readonly string[] | undefined> {
    const ranges = new Map<string, { from: number; to: number }>()
    for (const { stream, revision } of leaves) {
      const range = ranges.get(stream)
      // Leaves of one stream are in the order of its revisions, without gaps.
      ranges.set(stream, range === undefined ? { from: revision, to: revision } : { ...range, to: revision })
    }
    const found = new Map<string, string>()
    for (const [stream, range] of ranges) {
      for await (const page of this.#deps.store.readStream(stream, range)) {
        for (const { revision, header } of page) found.set(`${revision} ${stream}`, header)
      }
    }
    const headers = leaves.map(({ stream, revision }) => found.get(`${revision} ${stream}`))
    const present = headers.filter((header) => header !== undefined)
    return present.length === headers.length ? present : undefined
  }
}

/** Maximum number of leaves after the last checkpoint that are checked; there are few after a pass. */
const UNCOVERED_MAX = 1_000

/** Losses of the whole store come without a tenant, because they cannot be assigned to one. */
function stopsOf(logStore: LogDeps['logStore']): readonly LogStopped[] {
  const stopped = logStore.stoppedLogs().map(({ tenant, stopped: stop }) => ({ tenant, code: stop?.code ?? '' }))
  return [...lossesOfStore(logStore.progress()).map(({ code }) => ({ code })), ...stopped]
}

function refused(code: LogRefusalCode, size: number): { ok: false; code: LogRefusalCode; size: number } {
  return { ok: false, code, size }
}

function rootOf(tree: TenantTree, size: number): Uint8Array {
  return size === 0 ? emptyRoot() : tree.rootAt(size)
}

function inclusionPath(tree: TenantTree, { index, eventId, stream, revision }: LeafRow, size: number): InclusionPath {
  const leaf = tree.read({ level: 0, index })
  return { index, eventId, stream, revision, size, leaf, proof: proveInclusion(index, size, tree.read) }
}
